import assert from 'node:assert/strict'
import type { Micros, PenaltyTaken, Store, Take, Taken } from '@spillway/core'
import { BLOCK_LIST, stepFor } from '@spillway/core/internal'
import { START } from './clock.ts'
import { made } from './made.ts'
import type { TestFunction } from './runner.ts'
import { consume, peek } from './takes.ts'

const MINUTE: Micros = 60_000_000

const listed = (verb: 'charge' | 'refund', blockMicros: Micros): Take => ({
  policy: 'p (blocked)',
  key: 'a',
  step: stepFor(BLOCK_LIST, verb, BLOCK_LIST.limit, { blockMicros }),
})
const request = /* @__PURE__ */ made(() => [consume('a', 3), consume('a', 3, BLOCK_LIST, 'p (blocked)')])

const allowed = (taken: readonly Taken[]): boolean => taken.every((each) => each.allowed)
/** How long the key is blocked. */
const rest = (taken: readonly Taken[]): Micros => {
  const { until, now } = taken[1] as PenaltyTaken
  return until - now
}

/** Tests that requests look at a block list in the step that consumes their units, and write nothing to it. */
export function testBlockList(test: TestFunction, makeStore: () => Store | Promise<Store>): void {
  test('denies a key on its block list to the microsecond, and consumes none of its other policies', async () => {
    const store = await makeStore()
    await store.take([listed('charge', MINUTE)], START)
    for (const after of [0, MINUTE - 1]) {
      const denied = await store.take(request, START + after)
      assert.deepEqual([allowed(denied), rest(denied)], [false, MINUTE - after])
    }
    assert.deepEqual(await store.take([peek('a')], START), await store.take([peek('b')], START))
    assert.equal(allowed(await store.take(request, START + MINUTE)), true)
  })

  test('keeps nothing about a key that was never on its block list', async () => {
    const store = await makeStore()
    assert.equal(allowed(await store.take(request, START)), true)
    assert.equal(await store.delete([{ policy: 'p (blocked)', key: 'a' }]), 0)
  })

  test('takes a key off its block list, and consumes again', async () => {
    const store = await makeStore()
    await store.take([listed('charge', MINUTE)], START)
    await store.take([listed('charge', 1)], START)
    assert.equal(rest(await store.take(request, START)), MINUTE)
    await store.take([listed('refund', 0)], START)
    assert.equal(allowed(await store.take(request, START)), true)
  })

  test('keeps a key on its block list for as long as before if the clock steps back', async () => {
    const store = await makeStore()
    const back = START - 20_000_000
    await store.take([listed('charge', MINUTE)], START)
    for (const after of [0, MINUTE - 1]) assert.equal(rest(await store.take(request, back + after)), MINUTE - after)
    assert.equal(allowed(await store.take(request, back + MINUTE)), true)
  })
}
