import { formatValue, QuotaError } from '../common/errors.ts'
import { evictOldest } from '../common/eviction.ts'
import { oncePer } from '../common/once-per.ts'
import { loggerOf, warnOnce } from '../common/warn.ts'
import type { Store } from './store.ts'
import { scopeOf } from './store-kinds.ts'

/** A limiter's use of a state name. */
export interface Registration {
  readonly store: Store
  readonly name: string
  /** Whether the name is the default. */
  readonly isUnnamed?: boolean
  readonly quota?: unknown
  /** The function that chooses the quota by request, or a text that says there is none; undefined matches either. */
  readonly quotaFunction?: unknown
  /** Undefined if the caller passes the key. */
  readonly key?: unknown
  readonly match?: unknown
}

const PARTS = ['quota', 'quotaFunction', 'key', 'match'] as const

/** A part as text: a function by its source, so that an application built twice comes out the same. */
interface Part {
  readonly text: string
  readonly value: unknown
}

/** The option that has a part. */
const optionOf = (part: (typeof PARTS)[number]): string => (part === 'quotaFunction' ? 'quota' : part)

/** What a limiter counts. */
export type Parts = Readonly<Partial<Record<(typeof PARTS)[number], Part>>> & { readonly isUnnamed?: boolean }

/** The most names per database: a program that generates names must not fill the memory. */
const MOST_NAMES = 1_000

/** The registrations of each database. */
const databases = oncePer('registrations', (_owner: object) => new Map<string, Parts>())

interface Comparison {
  /** Compares a registration with those of other owners. */
  compare?: (registration: Registration, parts: Parts) => void
  /** What identifies the owner's database; undefined if that is not known, or the owner is closed. */
  serverOf?: () => string | undefined
}

/** How limiters are compared, by the owner of a scope; set by what knows its server. */
export const comparisonOf: (owner: object) => Comparison = oncePer('comparisons of servers', () => ({}))

/**
 * Registers what a limiter counts, all or nothing. Throws a QuotaError if a state name is registered on the same database
 * with another quota, key or match: the two would count as one. The registrations in `before` are withdrawn first.
 */
export function register(registrations: readonly Registration[], before: readonly Registration[] = []): void {
  const [ownOf, firstOf] = [firstOfEach(before), firstOfEach(registrations)]
  const known = (each: Registration): Parts | undefined =>
    ownOf(each) ? undefined : namesOn(each.store).get(idOf(each))
  const found = registrations.map((each) => {
    // A quota may have the name of a block list.
    const first = firstOf(each)
    return [each, partsOf(each), first && first !== each ? partsOf(first) : known(each)] as const
  })
  for (const [{ name }, parts, others] of found) {
    const conflict = others && conflictOf(name, parts, others)
    if (conflict !== undefined) throw new QuotaError('ERR_SPILLWAY_OPTION', conflict)
  }
  for (const each of before) namesOn(each.store).delete(idOf(each))
  for (const [each, parts, others] of found) {
    if (others) warnOfOneCount(each, parts, others)
    const names = namesOn(each.store)
    names.set(idOf(each), { ...others, ...parts })
    evictOldest(names, MOST_NAMES)
    comparisonOf(scopeOf(each.store).owner).compare?.(each, parts)
  }
}

const namesOn = (store: Store): Map<string, Parts> => databases(scopeOf(store).owner)

/** A state name has no line breaks. */
export function idOf({ store, name }: Registration): string {
  const scope = scopeOf(store).name
  return scope === '' ? name : `${name}\n${scope}`
}

/** Finds the first registration of the same states. */
function firstOfEach(registrations: readonly Registration[]): (each: Registration) => Registration | undefined {
  const databases = new Map<Map<string, Parts>, Map<string, Registration>>()
  for (const each of [...registrations].reverse()) {
    const names = namesOn(each.store)
    databases.set(names, (databases.get(names) ?? new Map()).set(idOf(each), each))
  }
  return (each) => databases.get(namesOn(each.store))?.get(idOf(each))
}

const partsOf = (registration: Registration): Parts => ({
  ...Object.fromEntries(
    PARTS.filter((part) => registration[part] !== undefined).map((part) => [
      part,
      { text: textOf(registration[part]), value: registration[part] },
    ]),
  ),
  isUnnamed: registration.isUnnamed === true,
})

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return JSON.stringify(value.map(textOf))
  // The limit and the window come first: errors cut the rest.
  const { limit, window, ...rest } = value as Readonly<Record<string, unknown>>
  return Object.entries({ limit, window, ...rest })
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => `${name} ${textOf(each)}`)
    .join(', ')
}

/** The first part that both have, and that differs. */
const differing = (parts: Parts, others: Parts, differ: (a: Part, b: Part) => boolean) =>
  PARTS.find((each) => {
    const [a, b] = [parts[each], others[each]]
    return a !== undefined && b !== undefined && differ(a, b)
  })

/** Says that two limiters of one name are two, and what to write instead; undefined if they may be one. */
export function conflictOf(name: string, parts: Parts, others: Parts): string | undefined {
  const part = differing(parts, others, (a, b) => a.text !== b.text)
  if (part === undefined) return undefined
  return `two limiters on one database are named ${formatValue(name)} and would count as one, but differ in ${optionOf(part)}: ${formatValue(others[part]?.text)} and ${formatValue(parts[part]?.text)}. Give each a name of its own, such as name: 'login'.`
}

/** Two limiters that count as one may be meant to be two. An application that is built twice has such, too. */
export function warnOfOneCount({ store, name }: Registration, parts: Parts, others: Parts): void {
  const part = differing(parts, others, (a, b) => typeof a.value === 'function' && a.value !== b.value)
  if (part === undefined) {
    warnOfNoName(store, name, parts, others)
    return
  }
  warnOnce(
    loggerOf(scopeOf(store).owner),
    'WARN_SPILLWAY_SAME_SOURCE',
    `two limiters on one database are named ${formatValue(name)} and count as one. Their ${optionOf(part)} functions have the same source, but are not the same function: if they read different variables, give each limiter a name of its own.`,
  )
}

/** A limiter without a name counts apart only on the in-memory store of its own. A limiter without a key may be for another's states. */
function warnOfNoName(store: Store, name: string, parts: Parts, others: Parts): void {
  if (!parts.isUnnamed || !others.isUnnamed || (parts.key === undefined) !== (others.key === undefined)) return
  const shown = PARTS.filter((part) => part !== 'quotaFunction' && parts[part] !== undefined)
  const same = shown.map((part) => `${part} ${formatValue(parts[part]?.text)}`)
  warnOnce(
    loggerOf(scopeOf(store).owner),
    'WARN_SPILLWAY_UNNAMED',
    'two limiters without a name are on one database, and count as one: ',
    `both are named ${[formatValue(name), ...same].join(', with ')}. Give each a name, such as name: 'login'.`,
  )
}
