/** A key, or its digest. */
interface Key {
  readonly key: string
  readonly isDigest: boolean
}

/** The first keys of an order: no more of them than are wanted. */
export class TopKeys<K extends Key> {
  readonly keys: K[] = []
  readonly #most: number
  readonly #compare: (a: K, b: K) => number

  constructor(most: number, compare: (a: K, b: K) => number) {
    this.#most = most
    this.#compare = compare
  }

  add(added: K): void {
    const { keys } = this
    const compare = this.#compare
    const last = keys.at(-1)
    if (keys.length === this.#most && last !== undefined && compare(last, added) <= 0) return
    // A scan may find a state twice.
    const known = keys.findIndex(({ key, isDigest }) => key === added.key && isDigest === added.isDigest)
    if (known >= 0) keys.splice(known, 1)
    let [first, end] = [0, keys.length]
    while (first < end) {
      const middle = (first + end) >> 1
      if (compare(keys[middle] as K, added) <= 0) first = middle + 1
      else end = middle
    }
    keys.splice(first, 0, added)
    if (keys.length > this.#most) keys.pop()
  }
}
