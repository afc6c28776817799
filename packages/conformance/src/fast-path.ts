import assert from 'node:assert/strict'
import {
  isSync,
  type Micros,
  type PreparedTake,
  perMinute,
  type Store,
  type SyncStore,
  slidingLog,
  type Take,
} from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from './clock.ts'
import { histories, momentsOf } from './histories.ts'
import { modelStore } from './model.ts'
import type { TestFunction } from './runner.ts'

/** Compares the prepared takes of an in-memory store with the model. */
export function testPreparedTakes(test: TestFunction, makeStore: () => Store | Promise<Store>, runs: number): void {
  test('returns the same results for prepared takes as for a batch', async () => {
    if (!isSync(await makeStore())) return
    const property = fc.asyncProperty(histories, fc.infiniteStream(fc.boolean()), async (history, prepares) => {
      const store = (await makeStore()) as SyncStore
      const model = modelStore(() => START)
      const prepared = preparing(store)
      const moments = momentsOf(history)
      for (const [i, { ops }] of history.entries()) {
        const at = moments[i] as Micros
        const takes = prepares.next().value && areApart(ops) ? prepared(ops) : undefined
        const answers = takes ? takePrepared(takes, ops, at) : store.takeSync(ops, at)
        assert.deepEqual(answers, model.takeSync(ops, at))
      }
    })
    await fc.assert(property, { numRuns: runs })
  })

  test('writes nothing when a prepared take looks', async () => {
    const store = await makeStore()
    if (!isSync(store) || !store.prepareSync) return
    const step = stepFor(perMinute(10), 'consume', 10)
    const take = store.prepareSync('p', step)
    assert.deepEqual([take.look('a', START), take.look('a', START)], [true, true])
    assert.equal(store.takeSync([{ policy: 'p', key: 'a', step }], START)[0]?.allowed, true)
  })

  test('keeps the expired entries of a log for a prepared take, in case the clock steps back', async () => {
    const store = await makeStore()
    if (!isSync(store) || !store.prepareSync) return
    const log = slidingLog({ limit: 3, window: '1s' })
    const [one, three] = [1, 3].map((cost) => store.prepareSync?.('log', stepFor(log, 'consume', cost)))
    assert.ok(one && three)
    for (const at of [0, 400_000, 800_000]) assert.equal(one.commit(one.look('a', START + at)).allowed, true)
    assert.equal(three.commit(three.look('a', START + 1_500_000)).allowed, false)
    assert.equal(one.commit(one.look('a', START + 900_000)).allowed, false)
  })

  test('has the clock by which it takes steps', async () => {
    const store = await makeStore()
    if (!isSync(store) || !store.clock) return
    const step = stepFor(perMinute(10), 'peek', 1)
    const now = (): Micros | undefined => store.takeSync([{ policy: 'p', key: 'a', step }])[0]?.now
    const times = [now(), store.clock(), now()]
    assert.deepEqual(times, times.toSorted())
  })
}

/** Prepares each step once, so that a take is used for many keys and calls; undefined if the store prepares none. */
function preparing(store: SyncStore): (ops: readonly Take[]) => readonly PreparedTake[] | undefined {
  const known = new Map<string, PreparedTake>()
  const prepared = ({ policy, step }: Take): PreparedTake | undefined => {
    const name = JSON.stringify([policy, step])
    const take = known.get(name) ?? store.prepareSync?.(policy, step)
    if (take) known.set(name, take)
    return take
  }
  return (ops) => {
    const takes = ops.map(prepared).filter((take) => take !== undefined)
    return takes.length === ops.length ? takes : undefined
  }
}

function takePrepared(takes: readonly PreparedTake[], ops: readonly Take[], at: Micros) {
  const [take, ...others] = takes
  if (take !== undefined && others.length === 0) return [structuredClone(take.take((ops[0] as Take).key, at))]
  const fits = takes.map((take, i) => take.look((ops[i] as Take).key, at))
  const allowed = fits.every((each) => each)
  // Copied, because the next take overwrites it.
  return takes.map((take) => structuredClone(take.commit(allowed)))
}

const areApart = (ops: readonly Take[]): boolean => new Set(ops.map(({ policy }) => policy)).size === ops.length
