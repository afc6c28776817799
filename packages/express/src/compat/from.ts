import {
  checkOptions,
  type Micros,
  micros,
  QuotaError,
  type SlidingWindowStep,
  type SlidingWindowTaken,
  type Store,
  shown,
  type Take,
} from '@spillway/core'
import { type AnyExpressRateLimitStore, type Counted, type ExpressRateLimitStore, promised } from './store.ts'

/** What `fromExpressRateLimitStore` takes besides the store. */
export interface FromExpressRateLimitStoreOptions {
  /** The length of the windows that the store counts, in milliseconds; the quota's `window` must be the same. */
  readonly windowMs: number
}

/**
 * A store of Spillway over one made for express-rate-limit, for quotas of the one kind that it can count:
 * `fixedWindow({ limit, window: windowMs, align: 'first' })`. It counts one policy.
 * Such a store adds one at a time and never refuses, hence: a cost of n is n calls, what is refused is counted and
 * taken back, and among requests that come together more may be refused than need be, never more admitted.
 */
export function fromExpressRateLimitStore(
  legacy: AnyExpressRateLimitStore,
  options: FromExpressRateLimitStoreOptions,
): Store {
  checkOptions('fromExpressRateLimitStore', options, ['windowMs'])
  const window = micros(options.windowMs, 'windowMs')
  const store = promised(legacy)
  begin(store, options.windowMs)
  let policy: string | undefined

  const check = (op: Take): SlidingWindowStep => {
    policy ??= op.policy
    if (policy !== op.policy) {
      throw refusal(
        `counts one policy, ${shown(policy)} here; ${shown(op.policy)} needs a store, and a prefix, of its own`,
      )
    }
    const { step } = op
    if (step.kernel === 'sliding-window' && step.fixed && step.ticks * step.tick === window) return step
    throw refusal(`counts fixedWindow({ limit, window: ${options.windowMs}, align: 'first' }) alone`)
  }

  return {
    async take(ops, at) {
      if (at !== undefined) throw refusal('has a clock of its own: it takes no moment')
      const steps = ops.map(check)
      const answers: SlidingWindowTaken[] = []
      for (const [i, { key }] of ops.entries()) answers.push(await takeOne(store, key, steps[i] as SlidingWindowStep))
      if (answers.every(({ allowed }) => allowed)) return answers
      return Promise.all(
        ops.map(({ key }, i) => undone(store, key, steps[i] as SlidingWindowStep, answers[i] as SlidingWindowTaken)),
      )
    },
    async delete(keys) {
      let deleted = 0
      for (const { key } of keys) {
        // A store without `get` cannot tell.
        if (!store.get || (await store.get(key)) !== undefined) deleted++
        await store.resetKey(key)
      }
      return deleted
    },
  }
}

const refusal = (problem: string): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', `a store of express-rate-limit ${problem}.`)

/** As express-rate-limit does: not waited for, since its failure shows in every call after it. */
function begin(store: ExpressRateLimitStore, windowMs: number): void {
  const failed = (error: Error): void => process.emitWarning(error)
  try {
    void Promise.resolve(store.init?.({ windowMs })).catch(failed)
  } catch (error) {
    failed(error as Error)
  }
}

async function takeOne(
  store: ExpressRateLimitStore,
  key: string,
  step: SlidingWindowStep,
): Promise<SlidingWindowTaken> {
  const { increment, check, limit, since, peek } = step
  if (peek || increment < 0 || check > limit) {
    const seen = windowOf(await store.get?.(key), step)
    // Windows of one key start a window apart at least; a store may tell the start of one a little differently each time.
    const counts = since === 0 || (seen.start - since) * 2 < step.ticks * step.tick
    const given = peek || !counts ? 0 : Math.min(Math.max(-increment, 0), seen.current)
    for (let left = given; left > 0; left--) await store.decrement(key)
    return { ...seen, allowed: seen.current + check <= limit, current: seen.current - given }
  }
  let last: Counted | undefined
  for (let i = 0; i < increment; i++) last = await store.increment(key)
  const seen = windowOf(last, step)
  return { ...seen, allowed: Math.max(seen.current - increment, 0) + check <= limit }
}

/** Takes back what an op of a refused batch has counted. */
async function undone(
  store: ExpressRateLimitStore,
  key: string,
  { increment, check, limit, peek }: SlidingWindowStep,
  taken: SlidingWindowTaken,
): Promise<SlidingWindowTaken> {
  if (peek || increment < 0 || check > limit) return taken
  for (let i = 0; i < increment; i++) await store.decrement(key)
  return { ...taken, current: Math.max(taken.current - increment, 0) }
}

function windowOf(
  counted: Counted | undefined,
  { ticks, tick }: SlidingWindowStep,
): Omit<SlidingWindowTaken, 'allowed'> {
  const window = ticks * tick
  const now: Micros = Date.now() * 1000
  const ends = counted?.resetTime === undefined ? now + window : counted.resetTime.getTime() * 1000
  const start = Math.min(Math.max(ends - window, now - window + 1), now)
  return { now, start, current: counted?.totalHits ?? 0, previous: 0 }
}
