import { type Micros, micros, type TokenBucketOptions } from '@spillway/core'
import type { Verb } from '@spillway/core/internal'

/** What the exact bucket answers, in whole microseconds. */
export interface ExactAnswer {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfter: Micros
  readonly resetAfter: Micros
  readonly replenishAfter: Micros
  readonly delay: Micros
}

/** A take, as a refund names it: the ticks after it, its own, and those at which it ends at the earliest. */
export interface ExactTake {
  readonly until: bigint
  readonly ticks: bigint
  readonly ends: bigint
}

/** What is asked of the exact bucket. */
export interface ExactCall {
  readonly verb: Verb
  readonly cost: number
  readonly now: Micros
  readonly maxWaitMicros: Micros
  readonly of?: ExactTake | undefined
}

interface Ticks {
  readonly base: bigint
  readonly gross: bigint
  readonly turn: bigint
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const ceilDiv = (a: bigint, b: bigint): bigint => (a >= 0n ? (a + b - 1n) / b : -(-a / b))

/**
 * One key of a bucket that refills `limit` units per `per`, by brute force: whole numbers of any size, in ticks of
 * `1 / limit` microseconds, of which a unit takes as many as `per` has microseconds. Nothing is rounded but what the kernel
 * states as whole microseconds: turns up, ends down, and what is reported up. The kernels, which have no number beyond
 * 2^53, have to answer the same.
 */
export function exactBucket(options: TokenBucketOptions): (call: ExactCall) => ExactAnswer & { take: ExactTake } {
  const scale = BigInt(options.limit)
  const unit = BigInt(micros(options.per, 'per'))
  const [burst, overdraft] = [BigInt(options.burst ?? options.limit), BigInt(options.overdraft ?? 0)]
  const size = burst * unit
  const whole = (ticks: bigint): bigint => ceilDiv(ticks, scale) * scale
  const ceiling = whole((burst + overdraft) * unit)
  let state: (Ticks & { readonly ahead: boolean }) | undefined

  const found = (at: bigint): Ticks & { readonly withinCeiling: boolean } => {
    const { base: tat, gross, turn, ahead } = state ?? { base: at, gross: at, turn: 0n, ahead: false }
    if (ahead || whole(tat) - at <= ceiling) {
      const base = max(tat, at)
      return { base, gross: max(gross, base), turn, withinCeiling: true }
    }
    const base = at + ceiling
    const most = max(gross, base)
    const known = whole(most) - base <= 3_600_000_000n * scale
    return { base, gross: known ? most : base, turn: known ? whole(most) : 0n, withinCeiling: false }
  }
  const refunded = ({ base, gross, turn }: Ticks, at: bigint, ticks: bigint, of?: ExactTake): Ticks => {
    const newest = max(turn, whole(base - size))
    const last = of?.until === gross
    let returned = min(ticks, base - at)
    if (of && !last) {
      const end = max(of.until - (gross - base), min(of.ends, base))
      returned = of.until > gross ? 0n : max(min(ticks, end - max(at, newest)), 0n)
    }
    const keepsTurn = returned === 0n || (last && of?.ticks === ticks && gross === base)
    return { base: base - returned, gross: last ? gross - returned : gross, turn: keepsTurn ? turn : newest }
  }
  const nextOf = (verb: Verb, before: Ticks, at: bigint, ticks: bigint, of?: ExactTake): Ticks =>
    verb === 'refund'
      ? refunded(before, at, ticks, of)
      : { ...before, base: before.base + ticks, gross: before.gross + ticks }
  const fitsAt = (verb: Verb, cost: number, base: bigint, at: bigint): bigint =>
    verb === 'refund' || verb === 'charge' ? at : base + max(BigInt(cost) - overdraft, 0n) * unit - size
  const keep = (at: bigint, { base, gross, turn }: Ticks): void => {
    state = { base, gross, turn: turn > at ? turn : 0n, ahead: whole(base) - at > ceiling }
  }

  const answerOf = (at: bigint, fits: bigint, base: bigint, after: bigint, allowed: boolean) => {
    const remaining = max(burst - ceilDiv(after - at, unit), 0n)
    const wait = (tick: bigint): Micros => Number(max(ceilDiv(tick - at, scale), 0n))
    const ends = max(at, after - size) + min(after - base, size)
    return {
      allowed,
      remaining: Number(remaining),
      retryAfter: allowed ? 0 : wait(fits),
      resetAfter: wait(after),
      replenishAfter: after === at ? 0 : wait(after - (burst - remaining - 1n) * unit),
      delay: allowed ? wait(fits) : 0,
      ends: (ends / scale) * scale,
    }
  }

  return ({ verb, cost, now, maxWaitMicros, of }) => {
    const at = BigInt(now) * scale
    const before = found(at)
    const { base } = before
    const never = BigInt(cost) > burst + overdraft
    const fits = fitsAt(verb, cost, base, at)
    const allowed = fits <= at + (never ? 0n : BigInt(maxWaitMicros) * scale)
    const next = nextOf(verb, before, at, BigInt(cost) * unit, of)
    const written = allowed && verb !== 'peek'
    if (written && (state !== undefined || next.base > at)) keep(at, next)
    if (!(written || verb === 'peek' || before.withinCeiling)) keep(at, before)
    const after = written ? next.base : base
    const { ends, ...answer } = answerOf(at, fits, base, after, allowed)
    const take = { until: written ? next.gross : base, ticks: after - base, ends }
    return { ...answer, ...(never && !allowed && { retryAfter: Infinity }), take }
  }
}
