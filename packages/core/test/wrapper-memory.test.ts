import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { faultyStore, modelStore, START } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { perMinute, rateLimiter, type Store, withDenyCache, withHashedKeys, withLeases } from '../src/index.ts'

/** What the program keeps when all garbage has been collected. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

const wrappers: readonly (readonly [string, (store: Store) => Store])[] = [
  ['deny cache', (store) => withDenyCache(store, { for: '1h' })],
  ['lease', (store) => withLeases(store, { requests: 100 })],
]
const keys: readonly (readonly [string, (header: string) => string])[] = [
  ['fill a header', (header) => header],
  ['are slices of a header', (header) => header.slice(0, 40)],
]

// A name concatenated of a policy and a slice of a header kept the header alive: 15 kB for each of 10,000 keys. In a file
// of its own, as V8 does not do so any more once it has optimised the concatenation.
test.each(wrappers.flatMap(([name, wrap]) => keys.map(([what, keyOf]) => ({ name, wrap, what, keyOf }))))(
  'a wrapper for a $name keeps little of keys that $what',
  async ({ wrap, keyOf }) => {
    // The store behind counts all keys as one, so that what grows is the wrapper.
    const one = withHashedKeys(faultyStore(modelStore(() => START)), () => 'one')
    const limiter = rateLimiter({ quota: perMinute(1), store: wrap(one) })
    const before = heapBytes()
    for (let n = 0; n < 5_000; n++) await limiter.consume(keyOf(String(n).padEnd(15_000, 'ab')))
    // 30 to 600 bytes a key, and sometimes 1,000, as what else runs in the process allocates, too. A kept header has 15,000.
    expect(heapBytes() - before).toBeLessThan(5_000 * 3_000)
  },
)
