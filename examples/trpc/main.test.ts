import { fakeClock } from '@spillway/conformance'
import { memoryStore } from '@spillway/memory'
import { expect, test } from 'vitest'
import { handlerOn } from './main.ts'

test('counts each procedure of a batch by its cost, and reports the wait', async () => {
  const handler = handlerOn(memoryStore({ clock: fakeClock() }))
  const ask = (path: string, user = 'ann') =>
    handler(new Request(`http://localhost/trpc/${path}`, { headers: { 'x-user': user } }))
  expect((await ask('read')).status).toBe(200)
  const batch = await ask(`${Array(10).fill('search').join()}?batch=1&input={}`)
  const answers = (await batch.json()) as { error?: { data: { code: string; retryAfterMs: number } } }[]
  expect(answers.filter(({ error }) => error === undefined)).toHaveLength(9)
  expect(answers.find(({ error }) => error)?.error?.data).toMatchObject({
    code: 'TOO_MANY_REQUESTS',
    retryAfterMs: 600,
  })
  const denied = await ask('search')
  expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '1'])
  // It had a link to our pages, from the message of the cause.
  expect(await denied.json()).toMatchObject({ error: { message: 'The rate limit is exceeded.' } })
  expect((await ask('search', 'bob')).status).toBe(200)
})
