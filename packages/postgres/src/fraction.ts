/** An exact number: `tick − early / scale` microseconds, with `early` from 0 to `scale − 1`. */
export interface Exact {
  readonly tick: number
  readonly early: number
}

/** A sum or difference whose `early` is out of range by at most one `scale`, in range again. */
export function exactly(tick: number, early: number, scale: number): Exact {
  if (early < 0) return { tick: tick + 1, early: early + scale }
  return early < scale ? { tick, early } : { tick: tick - 1, early: early - scale }
}

export const minus = (from: Exact, less: Exact, scale: number): Exact =>
  exactly(from.tick - less.tick, from.early - less.early, scale)

/** `times × (tick − early / scale)`. */
export function multiple(times: number, { tick, early }: Exact, scale: number): Exact {
  const parts = times * early
  return { tick: times * tick - (parts - (parts % scale)) / scale, early: parts % scale }
}
