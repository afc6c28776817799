import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, vi } from 'vitest'
import { type Quota, rateLimiter, type Store, tokenBucket, withSharedQuota } from '../src/index.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export interface Setting {
  readonly quota: Quota
  readonly processes?: number
  readonly margin?: number
  /** How long a call takes to the store, and its answer back. */
  readonly wayMs?: number
}

/** Processes that share a quota of a store at some distance, in simulated time. */
export function setUp({ quota, processes = 1, margin = 0.01, wayMs = 0 }: Setting) {
  const clock = fakeClock()
  const model = faultyStore(modelStore(clock))
  const sent: { due: number; deliver: () => void }[] = []
  let calls = 0
  const after = (micros: number): Promise<void> =>
    new Promise((resolve) => sent.push({ due: clock() + micros, deliver: resolve }))
  const away = async <T>(work: () => Promise<T>): Promise<T> => {
    calls++
    if (wayMs === 0) return work()
    await after(wayMs * 1000)
    const result = await work()
    await after(wayMs * 1000)
    return result
  }
  const remote: Store = {
    take: (ops) => away(() => model.take(ops)),
    takeEach: (batches) => away(() => (model as Required<Store>).takeEach(batches)),
    delete: (keys) => away(() => model.delete(keys)),
    deleteAll: (policies) => away(() => (model as Required<Store>).deleteAll(policies)),
  }
  // The clock of each process begins at its own start.
  const stores = Array.from({ length: processes }, (_, i) =>
    withSharedQuota(remote, { margin, stopwatch: () => clock() / 1000 + 137.331 * i }),
  )
  const limiters = stores.map((store) =>
    rateLimiter({ quota, store, name: 'p', deadline: '1h', onStoreError: 'throw' }),
  )
  /** Lets time pass, in steps of a millisecond, or of five. */
  const pass = async (ms: number): Promise<void> => {
    const step = ms % 5 === 0 ? 5 : 1
    for (let i = 0; i < ms; i += step) {
      clock.advance(step)
      for (const each of sent.splice(0)) {
        if (each.due <= clock()) each.deliver()
        else sent.push(each)
      }
      await settled()
    }
  }
  const direct = rateLimiter({ quota, store: model, name: 'p' })
  const [limiter] = limiters as [(typeof limiters)[0]]
  return { clock, model, stores, limiters, limiter, direct, pass, callsOf: () => calls }
}

export const quota = tokenBucket({ limit: 60_000, per: '1m' })
