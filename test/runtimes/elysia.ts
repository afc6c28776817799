import assert from 'node:assert/strict'
import { type Mount, sendInto, type TestFunction, testAdapter } from '@spillway/conformance'
import { decisionOf, perMinute, rateLimit } from '@spillway/elysia'
import { Elysia } from 'elysia'
import { timedOut } from './mounts.ts'
import { endOf } from './outcomes.ts'
import { runSuite } from './run.ts'

// A program: the adapter suite of Elysia in Bun, and routes that Bun's server could answer by itself.

const mountIn =
  (aot: boolean): Mount =>
  (options, { timeout, inner, onHandled, limited }) => {
    const app = new Elysia({ aot })
    for (const each of [options, ...inner]) app.use(limited(rateLimit(each)))
    app.all('*', ({ request }) => {
      onHandled()
      return { rateLimit: decisionOf(request) }
    })
    return sendInto(timedOut(async (request) => app.handle(request), timeout))
  }

const routes: Readonly<Record<string, (app: Elysia) => unknown>> = {
  'a text': (app) => app.get('/x', 'text'),
  'a response': (app) => app.get('/x', new Response('text')),
  'a group': (app) => app.group('/x', (group) => group.get('', 'text')),
  'all methods': (app) => app.all('/x', 'text'),
  'a guard': (app) => app.guard({}, (inner) => inner.get('/x', new Response('text'))),
  'an app': (app) => app.use(new Elysia({ prefix: '/x' }).get('', 'text')),
}
const orders: Readonly<Record<string, readonly ('limit' | 'route' | 'listen')[]>> = {
  'before the limiter': ['route', 'limit', 'listen'],
  'after the limiter': ['limit', 'route', 'listen'],
  'after the server has started': ['limit', 'listen', 'route'],
}

// Reproduces a bug: Bun answered these routes before any hook, and never limited them.
function testRoutes(test: TestFunction): void {
  for (const [kind, add] of Object.entries(routes)) {
    for (const [when, steps] of Object.entries(orders)) {
      test(`limits a route without a handler, ${kind}, that is added ${when}`, async () => {
        const app = new Elysia()
        const run = {
          limit: () => app.use(rateLimit({ quota: perMinute(2) })),
          route: () => add(app),
          listen: () => app.listen({ port: 0, hostname: '127.0.0.1' }),
        }
        for (const step of steps) run[step]()
        const statuses: number[] = []
        for (let i = 0; i < 4; i++) statuses.push((await fetch(`${app.server?.url}x`)).status)
        void app.stop(true)
        assert.deepEqual(statuses, [200, 200, 429, 429])
      })
    }
  }
}

async function main(): Promise<void> {
  await runSuite('Elysia', (test) => testAdapter(test, mountIn(true), { parsesUrls: true }))
  await runSuite('Elysia without compilation', (test) => testAdapter(test, mountIn(false), { parsesUrls: true }))
  await runSuite('Routes of Elysia', testRoutes)
  console.log(endOf(3))
}

void main()
