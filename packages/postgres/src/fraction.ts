import { type Exact, exactly } from '@spillway/core/internal'

export const minus = (from: Exact, less: Exact, scale: number): Exact =>
  exactly(from.tick - less.tick, from.early - less.early, scale)

/** `times × (tick − early / scale)`. */
export function multiple(times: number, { tick, early }: Exact, scale: number): Exact {
  const parts = times * early
  return { tick: times * tick - (parts - (parts % scale)) / scale, early: parts % scale }
}
