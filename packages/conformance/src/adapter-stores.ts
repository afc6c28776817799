import assert from 'node:assert/strict'
import { perMinute } from '@spillway/core'
import type { StoreErrorOption } from '@spillway/core/http'
import { fakeClock } from './clock.ts'
import { faultyStore } from './faulty.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, NeutralResponse, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** Tests policies in different stores: all-or-nothing, with one set of headers, and with one store failing. */
export function testPoliciesApart(test: TestFunction, mount: (options: NeutralOptions) => Send | Promise<Send>): void {
  /** An app with a policy `near` in one store and `far` in another. */
  const setUp = async (onStoreError: StoreErrorOption) => {
    const clock = fakeClock()
    const [near, far] = [modelStore(clock), faultyStore(modelStore(clock))]
    const policies = [
      { name: 'far', quota: perMinute(3), store: far },
      { name: 'near', quota: perMinute(6) },
    ]
    const send = await mount({ policies, store: near, onStoreError })
    const reported = ({ status, headers }: NeutralResponse): readonly unknown[] => [
      status,
      headers.ratelimit,
      headers['retry-after'],
    ]
    return { clock, far, send: async () => reported(await send()) }
  }

  test('checks policies in two stores like policies in one', async () => {
    const { clock, send } = await setUp('allow')
    assert.deepEqual(await send(), [200, '"far";r=2;t=20, "near";r=5;t=10', undefined])
    await send()
    assert.deepEqual(await send(), [200, '"far";r=0;t=20, "near";r=3;t=10', undefined])
    // One denies, and the other is never charged for it.
    for (let i = 0; i < 9; i++) assert.deepEqual(await send(), [429, '"far";r=0;t=20, "near";r=3;t=10', '20'])
    clock.advance(20_000)
    assert.deepEqual(await send(), [200, '"far";r=0;t=20, "near";r=4;t=10', undefined])
  })

  for (const [onStoreError, status, limit] of [
    ['local', 200, '"far";r=2;t=20, "near";r=4;t=10'],
    ['allow', 200, '"near";r=4;t=10'],
    ['deny', 503, '"near";r=5;t=10'],
  ] as const) {
    test(`reports the other policy if one of two stores fails: ${onStoreError}`, async () => {
      const { far, send } = await setUp(onStoreError)
      await send()
      far.break('failing')
      assert.deepEqual(await send(), [status, limit, status === 503 ? '1' : undefined])
      far.break('none')
      // The denied request was not charged.
      const near = status === 200 ? 3 : 4
      assert.deepEqual((await send())[1], `"far";r=1;t=20, "near";r=${near};t=10`)
    })
  }
}
