import { formatValue, QuotaError } from './errors.ts'
import { oncePer } from './once-per.ts'
import { type Store, scopeOf } from './store.ts'

/** A limiter's use of a state name. */
export interface Registration {
  readonly store: Store
  readonly name: string
  readonly quota?: unknown
  /** The function that picks the quota. */
  readonly tiers?: unknown
  /** Undefined if the caller passes the key. */
  readonly key?: unknown
  readonly match?: unknown
}

const PARTS = ['quota', 'tiers', 'key', 'match'] as const

/** The parts as text: functions by their source, so that an application built twice comes out the same. */
type Texts = Readonly<Partial<Record<(typeof PARTS)[number], string>>>

/** The most names per database: a program that generates names must not fill the memory. */
const MOST_NAMES = 1_000

/** The registrations of each database. */
const databases = oncePer('registrations', (_owner: object) => new Map<string, Texts>())

/**
 * Registers what a limiter counts, all or nothing. Throws a QuotaError if a state name is registered on the same database
 * with another quota, key or match: the two would count as one. The registrations in `before` are withdrawn first.
 */
export function register(registrations: readonly Registration[], before: readonly Registration[] = []): void {
  const known = (each: Registration): Texts | undefined =>
    before.some((own) => idOf(own) === idOf(each) && namesOn(own.store) === namesOn(each.store))
      ? undefined
      : namesOn(each.store).get(idOf(each))
  const found = registrations.map((each, i) => {
    // A quota may have the name of a block list.
    const same = registrations.findIndex(
      (other) => idOf(other) === idOf(each) && namesOn(other.store) === namesOn(each.store),
    )
    return [each, textsOf(each), same < i ? textsOf(registrations[same] as Registration) : known(each)] as const
  })
  for (const [{ name }, texts, others] of found) if (others) checkSame(name, texts, others)
  for (const each of before) namesOn(each.store).delete(idOf(each))
  for (const [each, texts, others] of found) {
    const names = namesOn(each.store)
    names.set(idOf(each), { ...others, ...texts })
    for (const oldest of names.keys()) {
      if (names.size <= MOST_NAMES) break
      names.delete(oldest)
    }
  }
}

const namesOn = (store: Store): Map<string, Texts> => databases(scopeOf(store).owner)

/** A state name has no line breaks. */
function idOf({ store, name }: Registration): string {
  const scope = scopeOf(store).name
  return scope === '' ? name : `${name}\n${scope}`
}

const textsOf = (registration: Registration): Texts =>
  Object.fromEntries(
    PARTS.filter((part) => registration[part] !== undefined).map((part) => [part, textOf(registration[part])]),
  )

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return JSON.stringify(value)
  // The limit and the window come first: errors cut the rest.
  const { limit, window, ...rest } = value as Readonly<Record<string, unknown>>
  return Object.entries({ limit, window, ...rest })
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `${name} ${textOf(each)}`)
    .join(', ')
}

function checkSame(name: string, texts: Texts, others: Texts): void {
  const part = PARTS.find(
    (each) => texts[each] !== undefined && others[each] !== undefined && texts[each] !== others[each],
  )
  if (part === undefined) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `two limiters on one database are named ${formatValue(name)} and would count as one, but differ in ${part}: ${formatValue(others[part])} and ${formatValue(texts[part])}. Give each a name of its own, such as name: 'login'.`,
  )
}
