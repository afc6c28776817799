import type { Micros } from '@spillway/core'

/** Microseconds in each unit that logs write durations in. */
export const UNITS = { s: 1e6, ms: 1e3, us: 1, ns: 1e-3 } as const
export type Unit = keyof typeof UNITS

const PER_UNIT: Readonly<Record<string, number>> = { ...UNITS, µs: 1, μs: 1, m: 60e6, h: 3600e6 }

/**
 * A duration that a log has: a number of `unit`, also as text, or a text with a unit such as `12.5ms`. Undefined if there is
 * none, as where servers write `-` or `-1` because a request had no end.
 */
export function durationOf(value: unknown, unit: Unit | undefined): Micros | undefined {
  if (typeof value === 'number') return unit === undefined ? undefined : valid(value * UNITS[unit])
  if (typeof value !== 'string') return undefined
  const [, digits, named] = /^(\d{1,15}(?:\.\d{1,12})?) ?(ns|us|µs|μs|ms|s|m|h)?$/.exec(value) ?? []
  const size = named === undefined ? unit && UNITS[unit] : PER_UNIT[named]
  return digits === undefined || size === undefined ? undefined : valid(Number(digits) * size)
}

const valid = (micros: number): Micros | undefined =>
  micros >= 0 && micros <= Number.MAX_SAFE_INTEGER ? Math.round(micros) : undefined
