/** An item of a list. */
export interface ListItem<T> {
  readonly value: T
  before: ListItem<T> | undefined
  after: ListItem<T> | undefined
}

/** A list that adds an item after another, and removes any, in constant time. */
export class LinkedList<T> {
  first: ListItem<T> | undefined
  last: ListItem<T> | undefined

  /** Adds an item at the end. */
  add(value: T): ListItem<T> {
    return this.addAfter(this.last, value)
  }

  /** Adds an item after another of this list; as the first, if that is undefined. */
  addAfter(before: ListItem<T> | undefined, value: T): ListItem<T> {
    const after = before ? before.after : this.first
    const item: ListItem<T> = { value, before, after }
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
