/** The first `count` items in an order, as of a sorted copy: sorting all of many items takes longer. */
export function firstOf<T>(items: readonly T[], count: number, order: (a: T, b: T) => number): readonly T[] {
  const first: T[] = []
  for (const item of items) {
    if (first.length === count && order(item, first[count - 1] as T) >= 0) continue
    let at = Math.min(first.length, count - 1)
    for (; at > 0 && order(item, first[at - 1] as T) < 0; at--) first[at] = first[at - 1] as T
    first[at] = item
  }
  return first
}
