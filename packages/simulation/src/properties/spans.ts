/** Units whose turn came somewhere between two times. */
export interface Admission {
  readonly from: number
  readonly to: number
  readonly units: number
}

/**
 * The first span of time in which more was admitted than `most` allows, which is no less in a longer span; undefined if there is
 * none. Only admissions whose whole interval lies in the span are counted, so that it never reports too many.
 */
export function overfullSpan(
  admissions: readonly Admission[],
  most: (from: number, to: number) => number,
): { readonly from: number; readonly to: number; readonly units: number } | undefined {
  const sorted = [...admissions].sort((a, b) => a.to - b.to)
  for (const from of new Set(sorted.map((each) => each.from))) {
    let units = 0
    // Most spans have less than the shortest one allows, which is fast to see.
    const least = most(from, from)
    for (const [i, each] of sorted.entries()) {
      if (each.from < from) continue
      units += each.units
      // Those with the same end are counted together.
      if (units <= least || sorted[i + 1]?.to === each.to) continue
      if (units > most(from, each.to) + 1e-6) return { from, to: each.to, units }
    }
  }
  return undefined
}
