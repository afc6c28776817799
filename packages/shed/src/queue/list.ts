/** An item's place in a list. */
export interface Place<T> {
  readonly value: T
  before: Place<T> | undefined
  after: Place<T> | undefined
}

/** A list that adds at its end, and removes any item in constant time. */
export class List<T> {
  first: Place<T> | undefined
  last: Place<T> | undefined
  size = 0

  add(value: T): Place<T> {
    const place: Place<T> = { value, before: this.last, after: undefined }
    if (this.last) this.last.after = place
    else this.first = place
    this.last = place
    this.size += 1
    return place
  }

  /** Removes a place of this list. It must not be removed again. */
  remove({ before, after }: Place<T>): void {
    if (before) before.after = after
    else this.first = after
    if (after) after.before = before
    else this.last = before
    this.size -= 1
  }
}
