/** An item of a list. */
export interface ListItem<T> {
  readonly value: T
  readonly rank: number
  before: ListItem<T> | undefined
  after: ListItem<T> | undefined
}

/** A list in the order of ranks. An item is removed in constant time, and found from the end, where most are added. */
export class SortedList<T> {
  first: ListItem<T> | undefined
  last: ListItem<T> | undefined

  /** The last item whose rank is at most this one. */
  lastUntil(rank: number): ListItem<T> | undefined {
    let item = this.last
    while (item && item.rank > rank) item = item.before
    return item
  }

  /** Adds an item behind those whose rank is at most its own. */
  add(rank: number, value: T): ListItem<T> {
    const before = this.lastUntil(rank)
    const after = before ? before.after : this.first
    const item: ListItem<T> = { value, rank, before, after }
    if (before) before.after = item
    else this.first = item
    if (after) after.before = item
    else this.last = item
    return item
  }

  /** Removes an item of this list. An item that has been removed must not be removed again. */
  remove({ before, after }: ListItem<T>): void {
    if (before) before.after = after
    else this.first = after
    if (after) after.before = before
    else this.last = before
  }
}
