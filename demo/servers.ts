import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { APPS } from './apps.ts'

/** A server that listens. */
export interface Running {
  readonly framework: string
  readonly url: string
  stop(): void
}

/** Starts a server for each framework, each on a free port of the loopback interface. */
export const startServers = (): Promise<Running[]> =>
  Promise.all(Object.entries(APPS).map(async ([framework, build]) => running(framework, await build())))

function running(framework: string, app: RequestListener): Promise<Running> {
  // Clients close idle connections after 4 s. If the server did, too, a stall of this process could let a client send on one that
  // has just been closed: "fetch failed".
  const server = createServer({ keepAliveTimeout: 0 }, app)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      const stop = (): void => {
        server.close()
        // Clients keep their connections open, and a server waits for them by default.
        server.closeAllConnections()
      }
      resolve({ framework, url: `http://127.0.0.1:${port}/`, stop })
    })
  })
}
