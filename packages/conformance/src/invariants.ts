import assert from 'node:assert/strict'
import {
  type Decision,
  type Micros,
  perDay,
  perMinute,
  perSecond,
  type Quota,
  type Store,
  type Taken,
} from '@spillway/core'
import { decide, stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import { quotasOf } from './random-quotas.ts'
import type { TestFunction } from './runner.ts'

/** One key under one quota, at chosen times. */
class Subject {
  readonly store: Store
  readonly quota: Quota

  constructor(store: Store, quota: Quota) {
    this.store = store
    this.quota = quota
  }

  async ask(verb: Verb, cost: number, at: Micros): Promise<Decision> {
    const step = stepFor(this.quota, verb, cost)
    const [taken] = await this.store.take([{ policy: 'p', key: 'a', step }], at)
    return decide('p', this.quota, cost, step, taken as Taken)
  }
}

/** The maximum number of units within `span` that the algorithm guarantees. */
function mostWithin(quota: Quota, span: Micros): number {
  const windows = Math.floor(span / quota.window) + 1
  switch (quota.kernel) {
    case 'bucket': {
      const { limit, overdraft, ticksPerUnit, scale, schedule } = quota
      const refilled = schedule
        ? (Math.floor(span / schedule.interval) + 1) * schedule.amount
        : (span * scale) / ticksPerUnit
      return limit + Math.max(overdraft, 0) + refilled
    }
    case 'sliding-window':
      return quota.limit * (windows + 1)
    case 'sliding-log':
    // Nothing releases its slots: they expire.
    case 'slots':
      return quota.limit * windows
    case 'warm-up':
      return MOST_COST + (span * quota.scale) / quota.ticksPerUnit
    case 'penalty':
      return quota.limit * (Math.floor(span / Math.min(quota.window, quota.block)) + 2)
  }
}

const MOST_COST = 14

const calls = /* @__PURE__ */ made(() =>
  fc.array(fc.record({ after: fc.integer({ min: 0, max: 2_000_000 }), cost: fc.integer({ min: 1, max: MOST_COST }) }), {
    minLength: 1,
    maxLength: 15,
  }),
)

/** Tests the invariants of every algorithm with random histories of one key. */
export function testInvariants(test: TestFunction, makeStore: () => Store | Promise<Store>, numRuns: number): void {
  for (const [algorithm, quotas] of Object.entries(quotasOf)) {
    const property =
      (body: (subject: Subject, history: readonly Call[]) => Promise<void>, runs = numRuns) =>
      () =>
        fc.assert(
          fc.asyncProperty(quotas, calls, async (quota, history) =>
            body(new Subject(await makeStore(), quota), history),
          ),
          { numRuns: runs },
        )

    test(`${algorithm}: reports exactly when a denied request fits, and does not charge it`, property(exactWaits))
    test(`${algorithm}: never over-admits in any span of time`, property(bounded))
    test(
      `${algorithm}: mints nothing when the clock steps back, and is whole again within two windows`,
      property(steadyBack),
    )
    test(`${algorithm}: refunds what was consumed, and no more`, property(refunds))
    test(`${algorithm}: admits as many concurrent requests as one by one`, property(crowd))
    // A poll is one of 150 calls, where a history has ten.
    test(`${algorithm}: is not starved by polling`, property(polled, Math.ceil(numRuns / 4)))
  }

  test('a changed limit keeps the used share of a bucket: 40 left of 100 are 80 of 200, and 8 of 20', async () => {
    const store = await makeStore()
    await new Subject(store, perMinute(100)).ask('consume', 60, START)
    const left = [200, 100, 20].map((limit) => new Subject(store, perMinute(limit)).ask('peek', 1, START))
    assert.deepEqual(
      (await Promise.all(left)).map(({ remaining }) => remaining),
      [80, 40, 8],
    )
  })

  test('neither the slowest nor the fastest quota overflows, not in ten idle years', async () => {
    for (const quota of [perDay(1, { burst: 3_000 }), perSecond(1_000_000), perSecond(1_000_000, { burst: 1 })]) {
      const subject = new Subject(await makeStore(), quota)
      for (const at of [START, START + 315_576_000_000_000]) {
        assert.equal((await subject.ask('consume', quota.limit, at)).remaining, 0)
        const { retryAfterMs, resetAfterMs } = await subject.ask('consume', 1, at)
        assert.deepEqual(
          [retryAfterMs, resetAfterMs].map((ms) => Math.round(ms * 1000)),
          [quota.ticksPerUnit / quota.scale, quota.window],
        )
      }
    }
  })
}

interface Call {
  readonly after: Micros
  readonly cost: number
}

async function exactWaits(subject: Subject, history: readonly Call[]): Promise<void> {
  let at = START
  for (const { after, cost } of history) {
    at += after
    const before = await subject.ask('peek', cost, at)
    const decision = await subject.ask('consume', cost, at)
    assert.equal(before.allowed, decision.allowed, 'peek says what consume does')
    assert.ok(Number.isInteger(decision.remaining) && decision.remaining >= 0 && decision.remaining <= decision.limit)
    if (decision.allowed) continue
    assert.deepEqual(decision, before, 'a denial changes nothing')
    // Nothing tells when a slot will be released.
    if (decision.retryAfterMs === Infinity || subject.quota.kernel === 'slots') continue
    const fits = at + Math.round(decision.retryAfterMs * 1000)
    assert.ok(fits > at, 'a denied request must wait')
    assert.equal((await subject.ask('peek', cost, fits - 1)).allowed, false, 'a microsecond early')
    assert.equal((await subject.ask('peek', cost, fits)).allowed, true, 'exactly on time')
  }
}

async function bounded(subject: Subject, history: readonly Call[]): Promise<void> {
  const admitted: { at: Micros; cost: number }[] = []
  let at = START
  for (const { after, cost } of history) {
    at += after
    if ((await subject.ask('consume', cost, at)).allowed) admitted.push({ at, cost })
  }
  for (const [i, first] of admitted.entries()) {
    let units = 0
    for (const each of admitted.slice(i)) {
      units += each.cost
      assert.ok(units <= mostWithin(subject.quota, each.at - first.at))
    }
  }
}

async function steadyBack(subject: Subject, history: readonly Call[]): Promise<void> {
  let at = START
  for (const { after, cost } of history) {
    at += after
    await subject.ask('consume', cost, at)
  }
  const { remaining } = await subject.ask('peek', 1, at)
  const back = at - history.length * 977_000_003
  const stepped = await subject.ask('consume', 1_000_000_000, back)
  assert.ok(stepped.remaining <= remaining, 'a clock step adds no units')
  const { quota } = subject
  const interval = quota.kernel === 'bucket' ? (quota.schedule?.interval ?? 0) : 0
  const overdraft = quota.kernel === 'bucket' ? Math.ceil((quota.overdraft * quota.ticksPerUnit) / quota.scale) : 0
  // A cold unit takes up to three times as long as a warm one.
  const debt = quota.kernel === 'warm-up' ? 3 * MOST_COST * quota.window : overdraft
  const block = quota.kernel === 'penalty' ? quota.max : 0
  const whole = await subject.ask('peek', quota.limit, back + 2 * quota.window + interval + debt + block)
  assert.equal(whole.remaining, quota.limit, 'no key is locked out')
}

async function refunds(subject: Subject, history: readonly Call[]): Promise<void> {
  let at = START
  for (const { after, cost } of history) {
    at += after
    const before = await subject.ask('peek', 1, at)
    const { allowed } = await subject.ask('consume', cost, at)
    if (allowed) await subject.ask('refund', cost, at)
    assert.equal((await subject.ask('peek', 1, at)).remaining, before.remaining)
  }
  assert.equal((await subject.ask('refund', 1_000, at)).remaining, subject.quota.limit, 'full, and no more')
}

async function crowd(subject: Subject, history: readonly Call[]): Promise<void> {
  // All requests have one cost. With different costs, the number of allowed ones depends on their order.
  const costs = [...history, ...history, ...history].map(() => (history[0] as Call).cost)
  const together = await Promise.all(costs.map((cost) => subject.ask('consume', cost, START)))
  const model = new Subject(
    modelStore(() => START),
    subject.quota,
  )
  const units = (decisions: readonly Decision[]): number =>
    decisions.reduce((sum, { allowed, cost }) => sum + (allowed ? cost : 0), 0)
  const apart: Decision[] = []
  for (const { cost } of together) apart.push(await model.ask('consume', cost, START))
  assert.equal(units(together), units(apart))
}

/**
 * Polls four times per refilled unit, through three windows: at least three of four units are allowed, minus those that a
 * new key lacks. Of more than a few units a window, all polls are allowed.
 */
async function polled(subject: Subject): Promise<void> {
  const { limit, window } = subject.quota
  const { quota } = subject
  const started = quota.kernel === 'bucket' ? ((quota.start?.lacking ?? 0) * quota.scale) / quota.ticksPerUnit : 0
  // A cold key gets a third of its rate.
  const lacking = quota.kernel === 'warm-up' ? 1 : started
  const pause = Math.max(Math.floor(window / Math.min(limit, 12) / 4), 1)
  let [admitted, asked] = [0, 0]
  for (let at = START; at <= START + 3 * window; at += pause, asked++)
    if ((await subject.ask('consume', 1, at)).allowed) admitted++
  // A block follows on the last unit.
  const blocks = quota.kernel === 'penalty' ? quota.max / window : 0
  const due = blocks > 0 ? limit * Math.floor(3 / (1 + blocks)) : 0.75 * 3 * limit - 1 - lacking
  assert.ok(admitted >= Math.min(due, asked), `${admitted} of ${3 * limit}`)
}
