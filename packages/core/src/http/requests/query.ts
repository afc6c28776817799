import { isObject } from '../../common/options.ts'
import { decoded, FORM } from './decoded.ts'
import { eachPair, type Pair } from './pairs.ts'

/**
 * The query of a request: as its framework has parsed it, or as text without the question mark, which a fragment ends; several
 * if handlers may read it in several ways.
 */
export type Query = QueryReading | readonly QueryReading[]
/** One way in which handlers may read the query: its text, or the values by their names. */
type QueryReading = string | LooseUrl | Readonly<Record<string, unknown>>

/**
 * A URL that some handlers read by its parts, and others by each `&`, `?` and `#`, which find parameters in the path, behind a
 * second question mark and in the fragment. If `isQuery`, a query of whose fragment others read parameters.
 */
export class LooseUrl {
  readonly url: string
  readonly isQuery: boolean

  constructor(url: string, isQuery = false) {
    this.url = url
    this.isQuery = isQuery
  }
}

/** The values of a query parameter. */
export interface Parameter {
  /** Those that a handler may read by its name: empty in each reading of the query that lacks it. */
  readonly values: string[]
  /** Those of `name[…]`, which parsers such as qs put into lists and objects, and of `=name`, which h3 1 reads as `name`. */
  readonly nested: string[]
}

const none = (): Parameter => ({ values: [], nested: [] })

/** The values of the named parameters. If a text has more than `most` of any name, no parameter is sure to be read. */
export function parametersIn(
  query: Query | undefined,
  names: ReadonlySet<string>,
  most: number = Number.POSITIVE_INFINITY,
): ReadonlyMap<string, Parameter> {
  const parameters = new Map(Array.from(names, (name) => [name, none()]))
  // A character more than the longest name tells names apart, and has the bracket: the rest of a long one is not visited again.
  const enough = Math.max(0, ...Array.from(names, ({ length }) => length)) + 1
  for (const reading of new Set<QueryReading>([query ?? ''].flat() as QueryReading[])) {
    if (typeof reading === 'string') addText(parameters, new LooseUrl(reading, true), most, enough, false)
    else if (reading instanceof LooseUrl) addText(parameters, reading, most, enough, true)
    else addParsed(parameters, reading, enough)
  }
  return parameters
}

/** The most characters of a query that stand for one: a character of three bytes. */
const WRITTEN = 9

/** The parameter of whose list or object a name with brackets is: `page[n]` of `page[n][]`, and otherwise `page`. */
function outerOf(parameters: ReadonlyMap<string, Parameter>, name: string): Parameter | undefined {
  const end = name.lastIndexOf('[')
  if (end < 1) return undefined
  const outer = name.slice(0, end)
  return parameters.get(outer) ?? outerOf(parameters, outer)
}

const HASH = 35
const AMPERSAND = 38
const QUESTION = 63

/** Whether handlers that read a URL by its parts find a pair: not at all, by a longer value, or as it is. */
type Strict = (pair: Pair) => 'absent' | 'longer' | 'same'

function strictReader(isQuery: boolean): Strict {
  let query = isQuery ? 0 : -1
  let hasFragment = false
  return ({ start, before, after }) => {
    if (before === HASH) hasFragment = true
    if (before === QUESTION && query < 0) query = start
    if (hasFragment || query < 0 || (before !== AMPERSAND && start !== query)) return 'absent'
    return after === (isQuery ? HASH : QUESTION) ? 'longer' : 'same'
  }
}

const textOf = (written: string, { isEncoded }: Pair): string => (isEncoded ? decoded(written, FORM) : written)

/** The first characters of a pair's name. */
const nameOf = (pair: Pair, most: number): string => textOf(pair.name.slice(0, WRITTEN * most), pair).slice(0, most)

const valueIn = (text: string, pair: Pair): string =>
  pair.value < 0 ? '' : textOf(text.slice(pair.value, pair.end), pair)

function addText(
  parameters: ReadonlyMap<string, Parameter>,
  reading: LooseUrl,
  most: number,
  enough: number,
  isLoose: boolean,
): void {
  const { url: text, isQuery } = reading
  const strict = strictReader(isQuery)
  const found = new Set<string>()
  let count = 0
  eachPair(text, isQuery ? '&#' : '&?#', (pair) => {
    const strictly = strict(pair)
    if (strictly === 'absent' && !isLoose) return
    count++
    const name = nameOf(pair, enough)
    const own = pair.isLed ? undefined : parameters.get(name)?.values
    if (own !== undefined && (strictly === 'same' || !isLoose)) found.add(name)
    if (strictly === 'longer' && isLoose) own?.push('')
    const list = own ?? (pair.isLed ? parameters.get(name) : outerOf(parameters, name))?.nested
    list?.push(valueIn(text, pair))
  })
  for (const [name, { values }] of parameters) if (count > most || !found.has(name)) values.push('')
}

function addParsed(
  parameters: ReadonlyMap<string, Parameter>,
  parsed: Readonly<Record<string, unknown>>,
  enough: number,
): void {
  for (const [name, { values, nested }] of parameters) {
    const value = parsedValue(parsed, name)
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const each of list) values.push(isObject(each) ? '' : String(each ?? ''))
    nested.push(...textsWithin(list.filter(isObject)))
  }
  for (const name of Object.keys(parsed)) {
    const nested = outerOf(parameters, name.slice(0, enough))?.nested
    nested?.push(...textsWithin([[parsed[name]]]))
  }
}

/** The value of a parameter. Parsers such as qs make an object of `page[n]`, and a list of `n[]`. */
function parsedValue(parsed: object, name: string): unknown {
  if (Object.hasOwn(parsed, name) || !name.includes('[')) return ownOf(parsed, name)
  return name.split(/[[\]]+/).reduce((outer: unknown, part) => (part === '' ? outer : ownOf(outer, part)), parsed)
}

const ownOf = (outer: unknown, name: string): unknown =>
  isObject(outer) && Object.hasOwn(outer, name) ? Reflect.get(outer, name) : undefined

/** The texts in objects. A set visits each once, also if it contains itself. */
function textsWithin(objects: readonly object[]): readonly string[] {
  const all = new Set<unknown>(objects)
  for (const each of all) if (isObject(each)) for (const inner of Object.values(each)) all.add(inner)
  return [...all].filter((each) => !isObject(each)).map(String)
}

/**
 * The value of a query parameter; empty if it is missing, or if its values differ. Which of them a handler reads depends on
 * the framework and on the handler: a client could choose its key with the others.
 */
export function soleValue({ values, nested }: Parameter): string {
  const [first = ''] = values
  return nested.length === 0 && values.every((value) => value === first) ? first : ''
}
