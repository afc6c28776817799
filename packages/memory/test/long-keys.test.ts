import nodeCrypto from 'node:crypto'
import { afterEach, expect, test, vi } from 'vitest'
import { memoryStore, perMinute, rateLimiter } from '../src/index.ts'

afterEach(() => void vi.restoreAllMocks())

// Reproduces a bug: a key of 15,000 characters was hashed in 0.2 ms, and a new one three times.
test.each([
  ['a Map', 1_000],
  ['packed slots', 1_000_000],
])('a long key costs one SHA-256 of its bytes, where keys are in %s', (_, maxKeys) => {
  const hashed: number[] = []
  const { createHash } = nodeCrypto
  vi.spyOn(nodeCrypto, 'createHash').mockImplementation((...args) => {
    const hash = createHash(...args)
    const at = hashed.push(0) - 1
    const { update } = hash
    hash.update = ((data: string, encoding: 'latin1') => {
      hashed[at] = (hashed[at] as number) + Buffer.from(data, encoding).length
      return update.call(hash, data, encoding)
    }) as never
    return hash
  })
  const limiter = rateLimiter({ quota: perMinute(2), store: memoryStore({ maxKeys }) })
  for (const key of ['a', 'b', 'a', 'b', 'a'].map((each) => each.repeat(15_000))) limiter.consumeSync(key)
  expect(limiter.consumeSync('a'.repeat(15_000)).allowed).toBe(false)
  expect(hashed).toEqual(Array.from({ length: 5 }, () => 15_016))
})
