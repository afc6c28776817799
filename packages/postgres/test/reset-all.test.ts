import { perDay, rateLimiter } from '@spillway/core'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { rowName, startOf } from '../src/key.ts'
import { unhurried } from './unhurried.ts'

let server: Postgres
let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool(server.config)
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

test('resetAll deletes thousands of rows, and reports how many, while others are written', async () => {
  const store = unhurried(pool)
  const limiter = rateLimiter({ name: 'api', quota: perDay(10), store, deadline: '10s' })
  const other = rateLimiter({ name: 'api2', quota: perDay(10), store, deadline: '10s' })
  const keys = Array.from({ length: 2_500 }, (_, i) => `user-${i}`)
  await Promise.all([...keys.map((key) => limiter.consume(key, 10)), other.consume('alice', 10)])
  const [deleted] = await Promise.all([limiter.resetAll(), ...keys.slice(0, 50).map((key) => other.consume(key))])
  expect(deleted).toBe(2_500)
  expect((await limiter.consume('user-7', 10)).allowed).toBe(true)
  expect((await other.consume('alice')).allowed).toBe(false)
})

test('a missing table has nothing to reset', async () => {
  const limiter = rateLimiter({ quota: perDay(10), store: unhurried(pool, { table: 'fresh' }), deadline: '10s' })
  expect(await limiter.resetAll()).toBe(0)
})

test('no key and no policy can imitate the hash of another', () => {
  const hashed = rowName({ policy: 'p', key: 'é' }).slice('p/'.length)
  expect(rowName({ policy: 'p', key: hashed })).not.toBe(rowName({ policy: 'p', key: 'é' }))
  expect(startOf(startOf('é').slice(0, -1))).not.toBe(startOf('é'))
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 250 }),
  fc.string({ unit: fc.constantFrom('/', '#', '%', '2', 'F', 'a', '\ud83d'), maxLength: 6 }),
)

test('no two states share a name, and only a policy’s own names start with its prefix', () => {
  const states = new Map<string, string>()
  fc.assert(
    fc.property(text, text, text, (policy, other, key) => {
      for (const each of [policy, other]) {
        const name = rowName({ policy: each, key })
        const state = JSON.stringify([each, key])
        expect(states.get(name) ?? state).toBe(state)
        states.set(name, state)
        expect(name.startsWith(startOf(policy))).toBe(each === policy)
      }
    }),
    { numRuns: 2_000 },
  )
})
