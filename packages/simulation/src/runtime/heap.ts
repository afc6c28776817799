/** A binary heap: the item that is due first, and among those due together the one that was added first. */
export class Heap<T extends { readonly due: number; readonly order: number }> {
  readonly #items: T[] = []

  get first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    const items = this.#items
    let place = items.push(item) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(item, items[parent] as T)) break
      items[place] = items[parent] as T
      place = parent
    }
    items[place] = item
  }

  remove(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (last === undefined || items.length === 0) return first
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= items.length) break
      if (child + 1 < items.length && isBefore(items[child + 1] as T, items[child] as T)) child++
      if (!isBefore(items[child] as T, last)) break
      items[place] = items[child] as T
      place = child
    }
    items[place] = last
    return first
  }
}

const isBefore = (
  a: { readonly due: number; readonly order: number },
  b: { readonly due: number; readonly order: number },
): boolean => a.due < b.due || (a.due === b.due && a.order < b.order)
