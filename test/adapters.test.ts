import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fakeClock } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { frameworks } from './adapters/apps.ts'
import { optionsAt } from './adapters/options.ts'
import { ask, POLICY, story } from './adapters/story.ts'

// The story of all adapters, told by a real server of each framework.

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** A server of a framework with a clock of its own. */
async function serve(name: string) {
  const clock = fakeClock()
  server = createServer(frameworks[name]?.(optionsAt(clock)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { clock, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe.each(Object.keys(frameworks))('over a socket, %s', (name) => {
  test('tells the story that all of them tell', async () => {
    const { clock, url } = await serve(name)
    for (const { afterMs, request, weight, told } of story) {
      clock.advance(afterMs)
      expect(await ask(url, request, weight === undefined ? {} : { headers: { 'x-weight': weight } }), request).toEqual(
        told,
      )
    }
  })

  test('tells the quota also where the handler throws', async () => {
    // Hono tells of errors on the console, and knows no way to have it silent.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { url } = await serve(name)
    // How an error reads is the framework's own affair.
    expect(await ask(url, 'GET /fails')).toMatchObject({
      status: 500,
      policy: POLICY,
      limit: '"app";r=5;t=10',
      retry: null,
    })
    expect(await ask(url, 'POST /fails')).toMatchObject({ status: 500, limit: '"app";r=4;t=10' })
    // An error that is made once and thrown often says nothing of the request before.
    expect(await ask(url, 'GET /shared')).toMatchObject({ status: 500, limit: '"app";r=3;t=10' })
    expect(await ask(url, 'GET /shared')).toMatchObject({ status: 500, limit: '"app";r=2;t=10' })
  })
})
