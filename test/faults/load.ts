import { perHour, type RateLimiter, rateLimiter, type Store } from '@spillway/core'
import { expect } from 'vitest'
import { until } from '../services/redis-cluster.ts'
import { boundOf } from './local.ts'

/** The quota of a client per hour, and a larger number of calls. */
export const LIMIT = 20
export const CALLS = 3 * LIMIT

export const quota = perHour(LIMIT)

/** A limiter with a long deadline for slow machines. */
export const patientOf = (store: Store): RateLimiter =>
  rateLimiter({ quota, store, deadline: '10s', onStoreError: 'throw', name: 'row' })

/** Calls a limiter concurrently: the decisions, and the p99 latency of the calls. */
export async function load(limiter: RateLimiter, keys: readonly string[], meanwhile: () => unknown = () => {}) {
  const startMs = performance.now()
  const calls = keys.map(async (key) => {
    const { allowed, degraded } = await limiter.consume(key)
    return { key, allowed, byStore: !degraded, ms: performance.now() - startMs }
  })
  meanwhile()
  // A call that hangs or throws fails the test.
  const answers = await Promise.all(calls)
  const times = answers.map(({ ms }) => ms).sort((a, b) => a - b)
  return { answers, p99: (times[Math.floor((times.length - 1) * 0.99)] as number).toFixed(0) }
}

export const same = (times: number): readonly string[] => Array.from({ length: times }, () => 'a')

export const countOf = (answers: readonly { readonly allowed: boolean }[]): number =>
  answers.filter(({ allowed }) => allowed).length

/** Waits for refunds and for the circuit: units refill so slowly that they cannot be what is waited for. */
export const remains = (limiter: RateLimiter, units: number): Promise<void> =>
  until(() =>
    limiter.peek('a').then(
      ({ remaining }) => remaining === units,
      () => false,
    ),
  )

/** `load` ensures this: it awaits every call, and fails if one throws. */
export const unharmed = { hung: 0, crashed: 0 }

/** Checks what was admitted of one key against its quota and the bound, for a row. */
export function keepsBound(admitted: number, startMs: number): { readonly admitted: number; readonly bound: number } {
  const bound = boundOf(performance.now() - startMs, LIMIT)
  expect(admitted).toBeGreaterThanOrEqual(LIMIT)
  expect(admitted).toBeLessThanOrEqual(bound)
  return { admitted, bound }
}

/** Checks what a store admits by itself of one key, and reports it for a row: the quota, and what refills meanwhile. */
export function keepsQuota(
  admitted: number,
  startMs: number,
  limit = LIMIT,
): { readonly admitted: number; readonly bound: number } {
  const bound = boundOf(performance.now() - startMs, limit) / 2
  expect(admitted).toBeGreaterThanOrEqual(limit)
  expect(admitted).toBeLessThanOrEqual(bound)
  return { admitted, bound }
}
