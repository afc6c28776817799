import assert from 'node:assert/strict'
import {
  type BucketStep,
  type BucketTaken,
  isSync,
  type Micros,
  type PreparedTake,
  perMinute,
  type Step,
  type Store,
  type SyncStore,
  type Take,
} from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import fc from 'fast-check'
import { type Call, histories, momentsOf } from './arbitraries.ts'
import { START } from './clock.ts'
import { modelStore } from './model.ts'
import type { TestFunction } from './runner.ts'

/** Compares the optional fast paths of an in-memory store with the general path of the model. */
export function testStraightWays(test: TestFunction, makeStore: () => Store | Promise<Store>, runs: number): void {
  const compare = async (waysOf: (store: SyncStore, history: readonly Call[]) => (op: Take, at: Micros) => void) => {
    if (!isSync(await makeStore())) return
    const property = fc.asyncProperty(histories, async (history) => {
      const check = waysOf((await makeStore()) as SyncStore, history)
      const moments = momentsOf(history)
      for (const [i, { ops }] of history.entries()) for (const op of ops) check(op, moments[i] as Micros)
    })
    await fc.assert(property, { numRuns: runs })
  }

  test('returns the same result for a single op as for a batch of one', () =>
    compare((store) => {
      const model = modelStore(() => START)
      return ({ policy, key, step }, at) => {
        const answer = store.takeOneSync?.(policy, key, step, at) ?? store.takeSync([{ policy, key, step }], at)[0]
        assert.deepEqual(answer, model.takeSync([{ policy, key, step }], at)[0])
      }
    }))

  test('returns the same result for a prepared step as for any other', () =>
    compare((store, history) => {
      const model = modelStore(() => START)
      const prepared = preparedBy(store, history)
      return (op, at) => {
        const [answer] = model.takeSync([op], at)
        const before = prepared.get(op)?.(op.key, at) ?? Number.NaN
        if (Number.isNaN(before)) assert.deepEqual(store.takeSync([op], at), [answer])
        else assert.equal(before, ticksAhead(answer as BucketTaken))
      }
    }))

  test('has the clock by which it takes steps', async () => {
    const store = await makeStore()
    if (!isSync(store) || !store.clock) return
    const step = stepFor(perMinute(10), 'peek', 1)
    const now = (): Micros | undefined => store.takeSync([{ policy: 'p', key: 'a', step }])[0]?.now
    const times = [now(), store.clock(), now()]
    assert.deepEqual(times, times.toSorted())
  })
}

/** Prepares the plain steps of a history before its first take. */
function preparedBy(store: SyncStore, history: readonly Call[]): ReadonlyMap<Take, PreparedTake> {
  const prepared = new Map<Take, PreparedTake>()
  for (const op of history.flatMap(({ ops }) => ops)) {
    if (isPlain(op.step) && store.prepareSync) prepared.set(op, store.prepareSync(op.policy, op.step))
  }
  return prepared
}

const ticksAhead = ({ now, base, early }: BucketTaken): number =>
  (base - now) * (early?.scale ?? 1) - (early?.base ?? 0)

const isPlain = (step: Step): step is BucketStep =>
  step.kernel === 'bucket' &&
  step.schedule === null &&
  step.start === null &&
  step.maxWaitMicros === 0 &&
  !step.peek &&
  consumes(step)

// A refund has a negative increment, and a charge has a tolerance without limit.
const consumes = ({ increment, tolerance, ceiling }: BucketStep): boolean => increment > 0 && tolerance <= ceiling
