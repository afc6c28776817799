import {
  type Micros,
  micros,
  QuotaError,
  type SlidingWindowStep,
  type SlidingWindowTaken,
  type Store,
  type Take,
} from '@spillway/core'
import { checkOptions, formatValue } from '@spillway/core/internal'
import { type AnyExpressRateLimitStore, type Counted, type ExpressRateLimitStore, promised } from './store.ts'

/** The options of `fromExpressRateLimitStore`. */
export interface FromExpressRateLimitStoreOptions {
  /** The length of the store's windows in milliseconds; the quota's `window` must be the same. */
  readonly windowMs: number
}

/**
 * Makes a store of Spillway from one made for express-rate-limit. It counts one policy, and only quotas of the form
 * `fixedWindow({ limit, window: windowMs, align: 'first' })`.
 *
 * Such a store adds 1 per call and never denies. Therefore a cost of n is n calls, and a denied request is counted and
 * then subtracted: of concurrent requests it may deny too many, but never allows too many.
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
      throw unsupportedStore(
        `counts one policy, ${formatValue(policy)} here; ${formatValue(op.policy)} needs a store, and a prefix, of its own`,
      )
    }
    const { step } = op
    const isFixed = step.kernel === 'sliding-window' && step.fixed && step.calendar === null && step.offset === null
    if (isFixed && step.ticks * step.tick === window) return step
    throw unsupportedStore(`counts fixedWindow({ limit, window: ${options.windowMs}, align: 'first' }) only`)
  }

  return {
    async take(ops, at) {
      if (at !== undefined) throw unsupportedStore('has its own clock, so it cannot count at a given time')
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
        // Without `get`, every key counts as deleted.
        if (!store.get || (await countOf(store, key)) !== undefined) deleted++
        await store.resetKey(key)
      }
      return deleted
    },
  }
}

const unsupportedStore = (problem: string): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', `a store of express-rate-limit ${problem}.`)

/** Not awaited, as in express-rate-limit: a failure shows in every later call. */
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
    const seen = windowOf(await countOf(store, key), step)
    // Windows of one key start at least a window apart, but a store may report slightly different starts of one window.
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

/** The count of a key; undefined if it has none. rate-limit-redis returns NaN hits then. */
async function countOf(store: ExpressRateLimitStore, key: string): Promise<Counted | undefined> {
  const counted = await store.get?.(key)
  return counted && Number.isNaN(counted.totalHits) ? undefined : counted
}

/** Subtracts what an op of a denied batch has counted. */
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
  // Some stores do not report the end, or as null.
  const endsMs = counted?.resetTime?.getTime()
  const ends = endsMs === undefined ? now + window : endsMs * 1000
  const start = Math.min(Math.max(ends - window, now - window + 1), now)
  return { now, start, current: counted?.totalHits ?? 0, previous: 0 }
}
