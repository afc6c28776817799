import assert from 'node:assert/strict'
import { fakeClock, testAdapter, testStore } from '@spillway/conformance'
import { memoryStore, perMinute, rateLimit } from '@spillway/fetch'
import { telemetry } from '@spillway/opentelemetry'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { type Handler, handlers } from '../adapters/handlers.ts'
import { optionsAt } from '../adapters/options.ts'
import { suiteServer } from '../services/elsewhere.ts'
import { mounts } from './mounts.ts'

// A Worker: the suites at `/`, and the apps of the story for requests that name one in `x-app`. All of it is made where
// Workers allow neither time nor chance nor I/O, as apps are.

const clock = fakeClock()

const apps: Record<string, Handler> = {
  // By the clock of Workers, which stands still until there is a request.
  plain: rateLimit({ quota: perMinute(1) })(() => new Response('ok')),
  ...Object.fromEntries(Object.entries(handlers).map(([name, build]) => [name, build(optionsAt(clock))])),
}

const others = [postgresStore, redisStore, telemetry]

const suites = suiteServer((test) => {
  test('packages load that are of little use here, too', async () => {
    assert.deepEqual(
      others.map(({ name }) => name),
      ['postgresStore', 'redisStore', 'telemetry'],
    )
  })
  testStore(
    (name, body) => test(`memory: ${name}`, body),
    () => memoryStore(),
  )
  for (const [adapter, mount] of Object.entries(mounts)) {
    testAdapter((name, body) => test(`${adapter}: ${name}`, body), mount, { parsesUrls: true })
  }
})

export default {
  fetch(request: Request, env: unknown, context: unknown): Response | Promise<Response> {
    clock.advance(Number(request.headers.get('x-advance-ms') ?? 0))
    const app = apps[request.headers.get('x-app') ?? '']
    return app ? app(request, env, context) : suites(request)
  },
}
