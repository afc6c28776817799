import { afterEach, beforeEach, expect, vi } from 'vitest'
import { type CachedOptions, cached } from '../src/index.ts'

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

export type Plan = 'free' | 'pro'

/** A database of plans that answers after `latencyMs`, or fails. */
function database(plans: Readonly<Record<string, Plan>>) {
  const state = { plans: { ...plans }, latencyMs: 10, down: false, lookups: [] as string[] }
  const planOf = (key: string): Promise<Plan | undefined> => {
    state.lookups.push(key)
    const plan = Object.hasOwn(state.plans, key) ? state.plans[key] : undefined
    const { down, latencyMs } = state
    if (latencyMs === 0) return Promise.resolve(plan)
    return new Promise((resolve, reject) => {
      setTimeout(() => (down ? reject(new Error('connection lost')) : resolve(plan)), latencyMs)
    })
  }
  return Object.assign(state, { planOf })
}

export const quiet = { logger: { warn: () => {} } }

export function setUp<D extends Plan | undefined = undefined>(
  options: CachedOptions<Plan, D> = {},
  plans: Readonly<Record<string, Plan>> = { ann: 'free', bob: 'pro' },
) {
  const db = database(plans)
  return { db, plan: cached<Plan, D>(db.planOf, { ...quiet, ...options }) }
}

/** Settles a result, and lets time pass meanwhile. */
export async function after<T>(millis: number, result: T | Promise<T>): Promise<T> {
  const settled = Promise.resolve(result).then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error
    },
  )
  await vi.advanceTimersByTimeAsync(millis)
  return (await settled)()
}
