import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fakeClock } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { frameworks as common } from './adapters/apps.ts'
import { moreFrameworks } from './adapters/more.ts'
import { optionsAt } from './adapters/options.ts'
import { ask, POLICY, story } from './adapters/story.ts'

// Runs the common story of all adapters on a real server of each framework.

// In this order: Hono's server replaces the global Response, which h3 returns.
const frameworks = { ...moreFrameworks, ...common }

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** A server of a framework with its own clock. */
async function serve(name: string) {
  const clock = fakeClock()
  server = createServer(frameworks[name]?.(optionsAt(clock)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { clock, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe.each(Object.keys(frameworks))('over a socket, %s', (name) => {
  test('has the same responses as all adapters', async () => {
    const { clock, url } = await serve(name)
    for (const { afterMs, request, weight, reported } of story) {
      clock.advance(afterMs)
      expect(await ask(url, request, weight === undefined ? {} : { headers: { 'x-weight': weight } }), request).toEqual(
        reported,
      )
    }
  })

  test('sends the quota headers also if the handler throws', async () => {
    // Hono logs errors to the console, and has no option to disable that.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { url } = await serve(name)
    // Each framework formats errors differently.
    expect(await ask(url, 'GET /fails')).toMatchObject({
      status: 500,
      policy: POLICY,
      limit: '"app";r=5;t=10',
      retry: null,
    })
    expect(await ask(url, 'POST /fails')).toMatchObject({ status: 500, limit: '"app";r=4;t=10' })
    // A shared error object has no headers of an earlier request.
    expect(await ask(url, 'GET /shared')).toMatchObject({ status: 500, limit: '"app";r=3;t=10' })
    expect(await ask(url, 'GET /shared')).toMatchObject({ status: 500, limit: '"app";r=2;t=10' })
  })
})
