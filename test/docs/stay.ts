// Runs samples, all in this process, and keeps it running with requests to their servers. Reports when each has begun.

import { type AddressInfo, Server, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'

const servers: Server[] = []
const { listen } = Server.prototype
Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  servers.push(this)
  const then = args.find((arg) => typeof arg === 'function') as (() => void) | undefined
  return listen.call(this, { port: 0, host: '127.0.0.1' }, then)
} as typeof listen

const { connect } = Socket.prototype
Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [options] = (Array.isArray(args[0]) ? args[0] : args) as [{ port?: number } | undefined]
  if (options?.port === 6379) options.port = Number(process.env['PORT'])
  return connect.apply(this, args as Parameters<typeof connect>)
} as typeof connect

const print = (error: unknown): void => void process.stderr.write(`${error}\n`)
process.on('uncaughtException', (error) => {
  print(error)
  process.exit(1)
})

setInterval(() => {
  for (const server of servers) {
    const { port } = (server.address() ?? {}) as Partial<AddressInfo>
    if (port !== undefined) fetch(`http://127.0.0.1:${port}/`).catch(() => {})
  }
}, 100)

for (const file of process.argv.slice(2)) {
  // A sample that awaits what a server must answer is not waited for.
  const begun = import(pathToFileURL(file).href).catch(print)
  await Promise.race([begun, new Promise((resolve) => setTimeout(resolve, 2_000))])
}
process.send?.('begun')
