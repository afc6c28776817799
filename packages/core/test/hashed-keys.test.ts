import { faultyStore, modelStore, START, testStore } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { perMinute, rateLimiter, type StateKey, type Store, withHashedKeys } from '../src/index.ts'
import { checkSecret } from '../src/internal.ts'

const hash = (key: string): string => `#${[...key].reverse().join('')} ${key.length}`

testStore(test, () => withHashedKeys(faultyStore(modelStore(() => START)), hash), { histories: 20 })

test('the store behind it sees no key as it is', async () => {
  const seen: StateKey[] = []
  const model = modelStore(() => START)
  const store = withHashedKeys(
    {
      slotOf: (key) => seen.push(key),
      take: (ops) => {
        seen.push(...ops)
        return model.take(ops)
      },
      delete: async (keys) => seen.push(...keys),
    } satisfies Store,
    hash,
  )
  store.slotOf?.({ policy: 'p', key: 'alice' })
  await store.delete([{ policy: 'p', key: 'alice' }])
  expect(seen.map(({ policy, key }) => [policy, key])).toEqual([
    ['p', '#ecila 5'],
    ['p', '#ecila 5'],
  ])
})

test('a store that is an object of a class still reports its slots', () => {
  class Sharded implements Store {
    readonly #shards = 7
    take = async (): Promise<never[]> => []
    delete = async (): Promise<number> => 0
    slotOf({ key }: StateKey): number {
      return key.length % this.#shards
    }
  }
  expect(withHashedKeys(new Sharded(), (key) => `${key}#`).slotOf?.({ policy: 'p', key: 'alice' })).toBe(6)
})

// All clients had one key, '[object Promise]', or each request of a client had another.
test.each<[string, () => unknown]>([
  ['a promise', async () => 'hash'],
  ['bytes', () => new Uint8Array(32)],
  ['nothing', () => undefined],
])('a hash that is %s fails the request', async (_, hash) => {
  const store = withHashedKeys(faultyStore(modelStore(() => START)), hash as () => string)
  const limiter = rateLimiter({ quota: perMinute(10), store })
  const message = 'hash must return a string'
  await expect(limiter.consume('alice')).rejects.toThrow(message)
  await expect(limiter.peek('alice')).rejects.toThrow(message)
  await expect(limiter.reset('alice')).rejects.toThrow(message)
})

test('an unset secret is rejected: keys would be readable', () => {
  expect(() => checkSecret('redisStore', undefined)).toThrow(
    'redisStore hashKeys is undefined: is its environment variable set? Leave the option out to keep keys readable.',
  )
})
