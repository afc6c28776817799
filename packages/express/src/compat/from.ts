import {
  type BucketStep,
  type BucketTaken,
  checkOptions,
  type Grain,
  type Micros,
  micros,
  QuotaError,
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

type FixedStep = BucketStep & { readonly grain: Grain }

/** What a key's window holds, on a clock that is set so that the window begins and ends where the quota's do. */
interface Seen {
  readonly now: Micros
  /** The tick at which the window began. */
  readonly start: number
  readonly hits: number
}

/**
 * A store of Spillway over one made for express-rate-limit, for quotas of the one kind that it can count:
 * `fixedWindow({ limit, window: windowMs })`, whose window then starts with a key's first request. It counts one policy.
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

  const check = (op: Take): FixedStep => {
    policy ??= op.policy
    if (policy !== op.policy) {
      throw refusal(
        `counts one policy, ${shown(policy)} here; ${shown(op.policy)} needs a store, and a prefix, of its own`,
      )
    }
    const { step } = op
    const fixed = step.kernel === 'bucket' && step.grain?.every === window && step.ceiling === step.grain.amount
    if (fixed && step.patience === 0) return step as FixedStep
    throw refusal(`counts fixedWindow({ limit, window: ${options.windowMs} }) alone, and nobody can wait for it`)
  }

  return {
    async take(ops, at) {
      if (at !== undefined) throw refusal('has a clock of its own: it takes no moment')
      const steps = ops.map(check)
      const answers: BucketTaken[] = []
      for (const [i, { key }] of ops.entries()) answers.push(await takeOne(store, key, steps[i] as FixedStep))
      if (answers.every(({ allowed }) => allowed)) return answers
      return Promise.all(ops.map(({ key }, i) => undone(store, key, steps[i] as FixedStep, answers[i] as BucketTaken)))
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

async function takeOne(store: ExpressRateLimitStore, key: string, step: FixedStep): Promise<BucketTaken> {
  const { increment, check, tolerance, peek } = step
  if (peek || increment < 0 || check > tolerance) {
    const seen = seenIn(await store.get?.(key), step)
    const give = peek ? 0 : Math.max(increment, Math.min(seen.start - step.until, 0))
    for (let left = give; left < 0; left++) await store.decrement(key)
    const given = Math.max(seen.hits + Math.min(give, 0), 0)
    return takenOf({ ...seen, hits: given }, seen.hits + check <= tolerance, step, given)
  }
  let last: Counted | undefined
  for (let i = 0; i < increment; i++) last = await store.increment(key)
  const seen = seenIn(last, step)
  const before = Math.max(seen.hits - increment, 0)
  return takenOf(seen, before + check <= tolerance, step, before)
}

/** Takes back what an op of a refused batch has counted. */
async function undone(
  store: ExpressRateLimitStore,
  key: string,
  { increment, check, tolerance, peek }: FixedStep,
  taken: BucketTaken,
): Promise<BucketTaken> {
  if (peek || increment < 0 || check > tolerance) return taken
  for (let i = 0; i < increment; i++) await store.decrement(key)
  return { ...taken, tat: taken.base, gross: taken.base }
}

function takenOf({ now, start, hits }: Seen, allowed: boolean, { grain }: FixedStep, before: number): BucketTaken {
  const full = (units: number): number => start + Math.min(units, grain.amount)
  return { allowed, now, base: full(before), tat: full(hits), gross: full(hits) }
}

/** Moves the clock so that the key's window ends where one of the quota's does: only differences are told. */
function seenIn(counted: Counted | undefined, { grain }: FixedStep): Seen {
  const { every, amount, shift } = grain
  const now = Date.now() * 1000
  const resets = counted?.resetTime === undefined ? now + every : counted.resetTime.getTime() * 1000
  const left = Math.min(Math.max(resets - now, 1), every)
  const turn = Math.ceil((now + left + shift) / every)
  return { now: turn * every - shift - left, start: (turn - 1) * amount, hits: counted?.totalHits ?? 0 }
}
