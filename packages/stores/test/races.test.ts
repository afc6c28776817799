import { perDay, type Store, type Take } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { compareAndSetStore, transactionalStore } from '@spillway/stores'
import { expect, test } from 'vitest'
import { lockingDriver, table, versionedDriver } from './reference.ts'

// Several stores on one table, as of several processes.

const LIMIT = 100
const step = stepFor(perDay(LIMIT), 'consume', 1)
const wide = stepFor(perDay(100_000), 'consume', 1)
const takes = (...keys: string[]): Take[] => keys.map((key) => ({ policy: 'p', key, step }))
const eight = (make: () => Store): readonly Store[] => Array.from({ length: 8 }, make)

/** How many of these calls were allowed. */
async function allowed(calls: readonly Promise<readonly { readonly allowed: boolean }[]>[]): Promise<number> {
  const answers = await Promise.all(calls)
  return answers.filter((taken) => taken.every((each) => each.allowed)).length
}

const bases: readonly (readonly [string, (rows: ReturnType<typeof table>) => Store])[] = [
  ['transactions', (rows) => transactionalStore(lockingDriver(rows), { deadline: '30s' })],
  ['compare-and-set', (rows) => compareAndSetStore(versionedDriver(rows), { deadline: '30s' })],
]

test.each(bases)('%s: eight processes admit exactly the limit of one key', async (_, make) => {
  const rows = table()
  const stores = eight(() => make(rows))
  const calls = Array.from({ length: 400 }, (_, i) => (stores[i % 8] as Store).take(takes('hot')))
  expect(await allowed(calls)).toBe(LIMIT)
})

test.each(bases)('%s: a denial and a peek write nothing', async (_, make) => {
  const rows = table()
  const store = make(rows)
  await store.take([{ policy: 'p', key: 'a', step: stepFor(perDay(LIMIT), 'consume', LIMIT) }])
  const before = rows.writes
  await Promise.all(Array.from({ length: 50 }, () => store.take(takes('a', 'b'))))
  await store.take([{ policy: 'p', key: 'c', step: stepFor(perDay(LIMIT), 'peek', 1) }])
  expect(rows.writes).toBe(before)
})

// Without coalescing, each caller lost as many compares as others won: 9.6 tries a take.
test('compare-and-set: 64 callers of one key need less than 1.5 tries a take', async () => {
  const rows = table()
  const store = compareAndSetStore(versionedDriver(rows), { deadline: '30s' })
  const callers = Array.from({ length: 64 }, async () => {
    for (let i = 0; i < 10; i++) await store.take([{ policy: 'p', key: 'hot', step: wide }])
  })
  await Promise.all(callers)
  expect(rows.tries / 640).toBeLessThan(1.5)
})

test('compare-and-set: eight processes never admit more of two keys than the limit, nor lose what they admit', async () => {
  const rows = table()
  const stores = eight(() => compareAndSetStore(versionedDriver(rows), { deadline: '30s' }))
  // The global key has room for all; each user fills up.
  const both = (user: string): Take[] => [
    { policy: 'all', key: 'global', step: wide },
    { policy: 'p', key: user, step },
  ]
  const calls = Array.from({ length: 800 }, (_, i) => (stores[i % 8] as Store).take(both(`user-${i % 4}`)))
  expect(await allowed(calls)).toBe(4 * LIMIT)
  for (let i = 0; i < 4; i++) expect(await allowed([(stores[0] as Store).take(takes(`user-${i}`))])).toBe(0)
})
