import type { Decision } from '../algorithms/decision.ts'
import { checkKey } from '../algorithms/verbs.ts'
import { invalidOption } from '../common/errors.ts'
import { checkOptions } from '../common/guess.ts'
import type { Awaitable } from '../common/maybe-promise.ts'
import { checkCount, checkFunctions } from '../common/options.ts'
import { checkActual } from '../policies/costs.ts'
import type { RateLimiter } from './limiter.ts'
import type { Reservation } from './reservation.ts'

/** Options of `limitStream`. */
export interface LimitStreamOptions<T> {
  /** The limiter of the units. */
  readonly limiter: Pick<RateLimiter, 'reserve'>
  /** The key that is counted. */
  readonly key: string
  /**
   * Returns the units of an item: a whole number, 0 or more.
   * @default 1 for each item
   */
  readonly cost?: (item: T) => Awaitable<number>
  /**
   * Units that are reserved at a time, so that the store is not called for each item. The rest is refunded at the end.
   * @default `64`
   */
  readonly ahead?: number
}

/** A stream that ends at the limit. Iterate it once. */
export interface LimitedStream<T> extends AsyncIterable<T> {
  /** The denial, if the limit has ended the stream; undefined before, and if the source has ended. */
  readonly denied: Decision | undefined
  /** The units of the items so far. */
  readonly units: number
}

/**
 * Passes on the items of a stream as long as their units are available, and ends it at the limit: the item that does not fit
 * is not passed on, and the source is closed. Units that were reserved and not used are refunded when the stream ends, or the
 * caller leaves it. Throws a `QuotaError` if an option is invalid.
 */
export function limitStream<T>(
  source: AsyncIterable<T> | Iterable<T>,
  options: LimitStreamOptions<T>,
): LimitedStream<T> {
  checkOptions('limitStream', options, ['limiter', 'key', 'cost', 'ahead'])
  checkFunctions(options, ['cost'])
  const { limiter, cost = () => 1 } = options
  const key = checkKey(options.key)
  checkSources(source, limiter)
  const ahead = checkCount('limitStream ahead', options.ahead ?? 64, 1)
  const supply = supplyOf((units) => limiter.reserve(key, { cost: units, maxWait: 0 }), ahead)
  let denied: Decision | undefined
  let units = 0
  async function* items(): AsyncGenerator<T, void> {
    try {
      for await (const item of source) {
        const due = checkActual(await cost(item))
        denied = await supply.consume(due)
        if (denied !== undefined) return
        units += due
        yield item
      }
    } finally {
      await supply.close()
    }
  }
  return {
    [Symbol.asyncIterator]: items,
    get denied() {
      return denied
    },
    get units() {
      return units
    },
  }
}

function checkSources(source: unknown, limiter: unknown): void {
  const read = source as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined
  if (typeof (read?.[Symbol.asyncIterator] ?? read?.[Symbol.iterator]) !== 'function') {
    throw invalidOption('limitStream takes an iterable', source)
  }
  if (typeof (limiter as Partial<RateLimiter> | null | undefined)?.reserve === 'function') return
  throw invalidOption('limitStream limiter must be built by rateLimiter', limiter)
}

/** Units that are reserved in advance. */
interface Supply {
  /** Consumes units, and reserves more if too few are left; returns the denial if that is denied. */
  consume(units: number): Promise<Decision | undefined>
  /** Refunds what is left. */
  close(): Promise<void>
}

/** Units that are reserved `ahead` at a time. */
function supplyOf(reserve: (units: number) => Promise<Reservation>, ahead: number): Supply {
  let current: Reservation | undefined
  let used = 0
  let left = 0
  const reserveNext = async (units: number): Promise<Reservation> => {
    const next = await reserve(Math.max(ahead, units))
    // If fewer are available, the rest is reserved item by item.
    return next.allowed || ahead <= units ? next : reserve(units)
  }
  return {
    consume: async (units) => {
      if (units <= left) {
        used += units
        left -= units
        return undefined
      }
      // A part of these units uses up the reservation before.
      const missing = units - left
      const next = await reserveNext(missing)
      if (!next.allowed) return next
      current = next
      used = missing
      left = next.cost - missing
      return undefined
    },
    close: async () => {
      // If the refund fails, its units refill with time.
      if (left > 0) await current?.commit(used).catch(() => {})
    },
  }
}
