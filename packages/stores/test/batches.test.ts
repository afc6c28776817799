import { START } from '@spillway/conformance'
import { perDay, StoreError, type Taken } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { afterEach, expect, test, vi } from 'vitest'
import type { Call } from '../src/calls.ts'
import { coalescing, type Send } from '../src/coalesce.ts'
import type { Driver } from '../src/drivers.ts'
import { failing } from '../src/failure.ts'

// Tests which calls share a batch. Each statement returns when the test resolves it.

const step = stepFor(perDay(10), 'consume', 1)
const call = (keys: string, at?: number): Call => ({
  ops: [...keys].map((key) => ({ policy: 'p', key, step })),
  names: [...keys],
  at,
  deadline: undefined,
})

const failure = failing({ kind: 'the table' } as Driver)
const batching = (send: Send, timeoutMs: number) => coalescing({ send, timeoutMs, failure })

function setUp(timeoutMs = 25_000) {
  const statements: { readonly keys: readonly string[]; readonly answer: () => void }[] = []
  const put = batching((calls) => {
    const keys = calls.map(({ ops }) => ops.map(({ key }) => key).join(''))
    return new Promise<readonly (readonly Taken[])[]>((resolve) => {
      statements.push({ keys, answer: () => resolve(calls.map(() => [])) })
    })
  }, timeoutMs)
  return { put, statements, sent: () => statements.map(({ keys }) => keys.join(' ')) }
}

/** Waits for some ticks, in which batches are sent. */
const ticks = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

afterEach(() => {
  vi.useRealTimers()
})

test('a key has one statement in flight, and other keys do not wait for it', async () => {
  const { put, statements, sent } = setUp()
  const first = [put(call('a')), put(call('a'))]
  await ticks()
  const second = [put(call('a')), put(call('b')), put(call('a'))]
  await ticks()
  expect(sent()).toEqual(['a a', 'b'])
  statements[0]?.answer()
  await Promise.all(first)
  await ticks()
  expect(sent()).toEqual(['a a', 'b', 'a a'])
  for (const { answer } of statements) answer()
  await Promise.all(second)
})

test('no call overtakes an earlier call that waits for one of its keys', async () => {
  const { put, statements, sent } = setUp()
  const all = [put(call('a'))]
  await ticks()
  all.push(put(call('ab')), put(call('b')), put(call('c')))
  await ticks()
  expect(sent()).toEqual(['a', 'c'])
  statements[0]?.answer()
  await ticks()
  expect(sent()).toEqual(['a', 'c', 'ab b'])
  for (const { answer } of statements) answer()
  await Promise.all(all)
})

test('a statement has at most 500 calls, and the others follow at once', async () => {
  const { put, statements } = setUp()
  const all = Array.from({ length: 1_200 }, (_, i) => put(call(String.fromCodePoint(0x4e00 + i))))
  await ticks()
  expect(statements.map(({ keys }) => keys.length)).toEqual([500, 500, 200])
  for (const { answer } of statements) answer()
  await Promise.all(all)
})

test('calls with different times do not share a batch, and do not wait for each other', async () => {
  const { put, statements, sent } = setUp()
  const all = [put(call('a', START)), put(call('b', START + 1)), put(call('c', START)), put(call('d'))]
  await ticks()
  expect(sent()).toEqual(['a c', 'b', 'd'])
  for (const { answer } of statements) answer()
  await Promise.all(all)
})

test('a call that timed out before it was sent is not sent', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { put, statements, sent } = setUp(100)
  const first = put(call('a')).catch((error: Error) => error.name)
  await ticks()
  const late = put(call('a')).catch((error: Error) => error.name)
  vi.advanceTimersByTime(100)
  expect([await first, await late]).toEqual(['StoreError', 'StoreError'])
  statements[0]?.answer()
  await ticks()
  expect(sent()).toEqual(['a'])
})

// Reproduces a bug: it seemed to be sent, so that a refund was dropped instead of made later.
test('a call that timed out is unsent as soon as its statement turns out to be', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let starve = (): void => {}
  const put = batching(() => {
    const starved = new StoreError('no free connection', undefined, { reason: 'pool' })
    return new Promise((_, reject) => {
      starve = () => reject(starved)
    })
  }, 100)
  const failed = put(call('a')).catch((error: StoreError) => error)
  await ticks()
  vi.advanceTimersByTime(100)
  await ticks()
  const error = (await failed) as StoreError
  expect(error).toMatchObject({ reason: 'timeout', late: expect.any(Promise) })
  starve()
  await error.late
  // No late answer means that nothing was sent.
  expect(error.late).toBe(undefined)
})

test('a failed statement rejects its own calls, and the next one is sent', async () => {
  let fails = true
  const put = batching(async (calls) => {
    if (fails) throw new Error('down')
    return calls.map(() => [])
  }, 25_000)
  const failed = await Promise.allSettled([put(call('a')), put(call('a'))])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  fails = false
  expect(await put(call('a'))).toEqual([])
})
