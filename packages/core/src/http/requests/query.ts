import { isObject } from '../../common/options.ts'
import { decoded, FORM } from './decoded.ts'
import { eachPair, type Pair } from './pairs.ts'

/**
 * The query of a request: as its framework has parsed it, or as text without the question mark; several texts if handlers may
 * read it in several ways.
 */
export type Query = QueryReading | readonly QueryReading[]
/** One way in which handlers may read the query: its text, or the values by their names. */
type QueryReading = string | Readonly<Record<string, unknown>>

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
  for (const reading of new Set<QueryReading>([query ?? ''].flat() as QueryReading[])) {
    if (typeof reading === 'string') addText(parameters, reading, most)
    else addParsed(parameters, reading)
  }
  return parameters
}

/** The name before a bracket; empty without one. */
const nameBefore = (name: string): string => name.slice(0, Math.max(name.indexOf('['), 0))

function addText(parameters: ReadonlyMap<string, Parameter>, text: string, most: number): void {
  const found = new Set<string>()
  let count = 0
  eachPair(text, '&', ({ name: written, value, end, isLed, isEncoded }: Pair) => {
    count++
    const name = isEncoded ? decoded(written, FORM) : written
    const own = isLed ? undefined : parameters.get(name)?.values
    if (own !== undefined) found.add(name)
    const list = own ?? parameters.get(isLed ? name : nameBefore(name))?.nested
    if (list === undefined) return
    const raw = value < 0 ? '' : text.slice(value, end)
    list.push(isEncoded ? decoded(raw, FORM) : raw)
  })
  for (const [name, { values }] of parameters) if (count > most || !found.has(name)) values.push('')
}

function addParsed(parameters: ReadonlyMap<string, Parameter>, parsed: Readonly<Record<string, unknown>>): void {
  for (const [name, { values, nested }] of parameters) {
    const value = Object.hasOwn(parsed, name) ? parsed[name] : undefined
    const list: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const each of list) values.push(isObject(each) ? '' : String(each ?? ''))
    nested.push(...textsWithin(list.filter(isObject)))
  }
  for (const name of Object.keys(parsed)) {
    const nested = parameters.get(nameBefore(name))?.nested
    nested?.push(...textsWithin([[parsed[name]]]))
  }
}

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
