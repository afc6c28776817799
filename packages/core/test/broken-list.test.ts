import { fakeClock, modelStore } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { perMinute, rateLimiter, type Store, StoreError } from '../src/index.ts'

// Stores whose `list` is wrong: the error is that of a store, and says what it should have returned. One of empty chunks
// without end blocked the process: the timer of the deadline never ran.

const { take, delete: remove } = modelStore(fakeClock())
const iterator = (next: () => unknown) => () => ({ [Symbol.asyncIterator]: () => ({ next }) })
const yielding = (chunk: unknown) => () =>
  (async function* () {
    yield chunk
  })()
const failing = (): never => {
  throw new Error('boom')
}

const limiterOf = (list: unknown) =>
  rateLimiter({ quota: perMinute(10), store: { take, delete: remove, list } as Store, deadline: '10s' })

const NAMED =
  'The store did not list its states: list returns an async iterable of lists of { key, isDigest, taken }; got'
const taken = { allowed: true, now: 0, base: 0, tat: 6e6 }

test.each<[string, unknown, string]>([
  ['nothing', () => undefined, `${NAMED} undefined`],
  ['null', () => null, `${NAMED} null`],
  ['a promise', async () => [], `${NAMED} a promise`],
  ['a list', () => [], `${NAMED} an array`],
  ['an error', failing, 'The store failed: boom'],
  ['an iterator that throws', iterator(failing), 'The store failed: boom'],
  ['an iterator that rejects', iterator(async () => failing()), 'The store failed: boom'],
  ['an iterator that returns nothing', iterator(async () => undefined), `${NAMED} undefined`],
  ['a chunk that is null', yielding(null), `${NAMED} null`],
  ['a chunk that is a number', yielding(5), `${NAMED} 5`],
  ['a state that is null', yielding([null]), `${NAMED} null`],
  ['a state without a result', yielding([{ key: 'a', isDigest: false }]), `${NAMED} an object`],
  ['a key that is no text', yielding([{ key: 5, isDigest: false, taken }]), `${NAMED} an object`],
  ['NaN', yielding([{ key: 'a', isDigest: false, taken: { ...taken, tat: Number.NaN } }]), `${NAMED} an object`],
])('a store that lists %s has failed', async (_, list, message) => {
  const listed = limiterOf(list).list()
  await expect(listed).rejects.toThrow(StoreError)
  await expect(listed).rejects.toThrow(message)
})

test('a store that lists empty chunks without end is left at the deadline', async () => {
  const list = iterator(async () => ({ done: false, value: [] }))
  expect(await limiterOf(list).list({ timeout: 20 })).toMatchObject({ keys: [], scanned: 0, isComplete: false })
})

test('an iterator that answers at once, or fails to stop, lists its states', async () => {
  const state = { key: 'a', isDigest: false, taken }
  const list = () => ({
    [Symbol.asyncIterator]: () => ({ next: () => ({ done: false, value: [state] }), return: failing }),
  })
  expect(await limiterOf(list).list({ scan: 1 })).toMatchObject({ keys: [{ key: 'a' }], scanned: 1, isComplete: false })
})
