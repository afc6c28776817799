import assert from 'node:assert/strict'
import { penalty, perMinute, rateLimiter, type Store } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** A store, and a promise that resolves when it has refunded units. */
function refundingStore() {
  const model = modelStore(fakeClock())
  let onRefund = (): void => {}
  const refunded = new Promise<void>((resolve) => {
    onRefund = resolve
  })
  const take: Store['take'] = async (ops, at) => {
    const taken = model.takeSync(ops, at)
    if (ops.some(({ step }) => step.increment < 0)) onRefund()
    return taken
  }
  const store: Store = { take, delete: model.delete }
  return { store, refunded }
}

/** Tests policies that count some response statuses only. The handler answers 200. */
export function testCountedStatuses(
  test: TestFunction,
  mount: (options: NeutralOptions) => Send | Promise<Send>,
): void {
  test('refunds a request whose status a policy does not count, and no other policy', async () => {
    const { store, refunded } = refundingStore()
    const of = { key: () => 'ann', quota: perMinute(10), deadline: '20s' } as const
    const send = await mount({
      policies: [
        { ...of, name: 'failures', cost: 4, countIf: [401, 403] },
        { ...of, name: 'successes', cost: 3, countIf: async (status) => status === 200 },
        { ...of, name: 'all', cost: 2 },
      ],
      store,
    })
    assert.equal((await send()).status, 200)
    await refunded
    const left = async (name: string) =>
      (await rateLimiter({ name, quota: perMinute(10), store }).peek('ann')).remaining
    assert.deepEqual([await left('failures'), await left('successes'), await left('all')], [10, 7, 8])
  })

  test('blocks a client that has used up a penalty, and says until when', async () => {
    const clock = fakeClock()
    const quota = penalty({ after: 2, within: '1m', block: '15m' })
    const send = await mount({ quota, countIf: [200], store: modelStore(clock) })
    const statuses = (await Promise.all(Array.from({ length: 9 }, () => send()))).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [200, 200, 429, 429, 429, 429, 429, 429, 429])
    clock.advance(60_000)
    const { headers, body } = await send()
    const problem = JSON.parse(body) as Record<string, unknown>
    assert.equal(problem['type'], 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected')
    assert.deepEqual([headers['retry-after'], problem['retry-after-ms']], ['840', 840_000])
    clock.advance(840_000)
    assert.equal((await send()).status, 200)
  })
}
