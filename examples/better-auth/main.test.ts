import { fakeClock } from '@spillway/conformance'
import { memoryStore } from '@spillway/memory'
import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { expect, test } from 'vitest'
import { rateLimitStorage } from './storage.ts'

const clock = fakeClock()
const store = memoryStore({ clock })

/** A process: each has its own app, and all have one store. */
const appOn = (customStorage: ReturnType<typeof rateLimitStorage>) =>
  betterAuth({
    baseURL: 'http://localhost',
    secret: 'a secret that is only for this test, and long enough',
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    emailAndPassword: { enabled: true },
    logger: { disabled: true },
    rateLimit: { enabled: true, customStorage },
  })

const signIn = (app: ReturnType<typeof appOn>, address = '192.0.2.1') =>
  app.handler(
    new Request('http://localhost/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify({ email: 'ann@example.com', password: 'a wrong password' }),
    }),
  )

test('of concurrent sign-ins in two processes, as many are allowed as the rule says', async () => {
  const apps = [appOn(rateLimitStorage(store)), appOn(rateLimitStorage(store))]
  const answers = await Promise.all(apps.flatMap((app) => Array.from({ length: 10 }, () => signIn(app))))
  const statuses = answers.map(({ status }) => status)
  expect([statuses.filter((status) => status === 401).length, new Set(statuses)]).toEqual([3, new Set([401, 429])])
  const [app] = apps as [ReturnType<typeof appOn>]
  expect((await signIn(app, '192.0.2.2')).status).toBe(401)
  const denied = await signIn(app)
  expect([denied.status, denied.headers.get('x-retry-after')]).toEqual([429, '10'])
  clock.advance(10_000)
  expect((await signIn(app)).status).toBe(401)
})
