import { isObject } from './options.ts'

/**
 * Reports whether a `match` certainly holds for all requests for which another holds: each of its conditions is one of the
 * other, a list that includes it, or a path above it. What functions select is not known.
 */
const covers = (wide: unknown, narrow: unknown): boolean =>
  wide === undefined || (typeof wide !== 'function' && includes(wide, narrow))

function includes(wide: unknown, narrow: unknown, part?: string): boolean {
  if (wide === narrow) return true
  if (Array.isArray(narrow)) return narrow.every((each) => includes(wide, each, part))
  if (Array.isArray(wide)) return wide.some((each) => includes(each, narrow, part))
  if (part === 'path') {
    const parent = parentIn(wide)
    return parent !== undefined && `${narrow}/`.startsWith(`${parent}/`)
  }
  if (!isObject(wide) || !isObject(narrow)) return false
  return Object.entries(wide).every(([name, value]) => includes(value, narrow[name], part === undefined ? name : ''))
}

/** The path of a pattern for all below. */
const parentIn = (pattern: unknown): string | undefined => /^(.*)\/\*\*?$/.exec(String(pattern))?.[1]

/** The texts by which the value of a condition is found. */
type TextsOf = (at: string, value: unknown) => readonly string[]

const textOf: TextsOf = (at, value) => {
  const parent = at === 'path' ? parentIn(value) : undefined
  return [parent === undefined ? `${at} ${isObject(value) ? '' : String(value)}` : `below ${parent}/`]
}

/** What covers a path is found by that or by one of its parents. */
const textsOver: TextsOf = (at, value) => {
  if (at !== 'path') return textOf(at, value)
  const parts = `${value}/`.split('/')
  return [...textOf(at, value), ...parts.slice(1).map((_, i) => `below ${parts.slice(0, i + 1).join('/')}/`)]
}

/** Of each condition, the texts of each of its values. */
function conditionsOf(match: object, textsOf: TextsOf): readonly (readonly (readonly string[])[])[] {
  return Object.entries(match).flatMap(([name, value]) => {
    const inner = isObject(value) && !Array.isArray(value) ? Object.entries(value) : undefined
    const conditions = inner?.map(([key, each]) => [`${name} ${key}`, each] as const) ?? [[name, value] as const]
    return conditions.map(([at, values]) => [values].flat().map((each) => textsOf(at, each)))
  })
}

/** Finds which of many `match`es covers another: each is compared with those that share a condition, not with all. */
export class Covering<T extends { readonly match?: unknown }> {
  readonly #found = new Map<unknown, T[]>()
  readonly #order = new Map<T, number>()

  /** The first that holds for all requests for which `match` holds. */
  firstOver(match: unknown): T | undefined {
    const keys = this.#fewest([match].flat().map((each) => this.#keysOver(each))) ?? []
    const candidates = new Set(keys.flatMap((key) => this.#found.get(key) ?? []))
    const over = [...candidates].filter((each) => covers(each.match, match))
    return over.sort((a, b) => (this.#order.get(a) ?? 0) - (this.#order.get(b) ?? 0))[0]
  }

  /** Adds one after those that have been added. */
  add(item: T): void {
    this.#order.set(item, this.#order.size)
    if (typeof item.match === 'function') return
    for (const alternative of [item.match].flat()) {
      for (const key of new Set(this.#keysOf(alternative))) {
        const known = this.#found.get(key)
        if (known === undefined) this.#found.set(key, [item])
        else known.push(item)
      }
    }
  }

  /** By what an alternative is found: the condition that the fewest others are found by. A function is itself. */
  #keysOf(alternative: unknown): readonly unknown[] {
    if (!isObject(alternative)) return [alternative]
    return this.#fewest(conditionsOf(alternative, textOf).map((values) => values.flat())) ?? [undefined]
  }

  /** By what all are found that may cover an alternative: they cover each value of a condition, so that one is enough. */
  #keysOver(alternative: unknown): readonly unknown[] {
    if (!isObject(alternative)) return [undefined, alternative]
    return [undefined, ...conditionsOf(alternative, textsOver).flatMap((values) => this.#fewest(values) ?? [])]
  }

  /** The keys by which the fewest are found. */
  #fewest<K>(lists: readonly (readonly K[])[]): readonly K[] | undefined {
    const sizes = lists.map((keys) => keys.reduce((sum, key) => sum + (this.#found.get(key)?.length ?? 0), 0))
    return lists[sizes.indexOf(Math.min(...sizes))]
  }
}
