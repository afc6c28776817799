import { fakeClock } from '@spillway/conformance'
import { afterEach, expect, test, vi } from 'vitest'
import { perMinute } from '../src/index.ts'
import { localStore } from '../src/remote/local-store.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  vi.resetModules()
})

// In Bun, anybody can choose texts whose hashes agree: a Map of 12,000 such keys took 100 times as long.
test.each(['deny cache', 'leases'])('%s gives no key to a Map of Bun as it is', async (wrapper) => {
  vi.resetModules()
  vi.stubGlobal('Bun', {})
  const { rateLimiter, withDenyCache, withLeases } = await import('../src/index.ts')
  const { take, delete: remove } = localStore(100, fakeClock())
  const store = { take, delete: remove }
  const wrapped = wrapper === 'leases' ? withLeases(store, { requests: 2 }) : withDenyCache(store)
  const limiter = rateLimiter({ quota: perMinute(4), store: wrapped })
  const set = vi.spyOn(Map.prototype, 'set')
  for (let i = 0; i < 6; i++) expect(await limiter.consume('alice')).toMatchObject({ allowed: i < 4 })
  const texts = set.mock.calls.map(([name]) => name).filter((name) => typeof name === 'string')
  expect(texts.length).toBeGreaterThan(0)
  expect(texts.filter((name) => name.includes('alice'))).toEqual([])
})
