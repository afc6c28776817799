/** An item of a list. */
export interface ListItem<T> {
  readonly value: T
  before: ListItem<T> | undefined
  after: ListItem<T> | undefined
}

/** A list that adds an item at either end, and removes any, in constant time. */
export class LinkedList<T> {
  first: ListItem<T> | undefined
  last: ListItem<T> | undefined

  add(value: T): ListItem<T> {
    const item: ListItem<T> = { value, before: this.last, after: undefined }
    if (this.last) this.last.after = item
    else this.first = item
    this.last = item
    return item
  }

  addFirst(value: T): ListItem<T> {
    const item: ListItem<T> = { value, before: undefined, after: this.first }
    if (this.first) this.first.before = item
    else this.last = item
    this.first = item
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
