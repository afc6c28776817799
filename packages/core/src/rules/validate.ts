import { formatValue, QuotaError, withoutLink } from '../common/errors.ts'
import { checkOptions, guess } from '../common/guess.ts'
import { OF_EACH_CUSTOMER } from '../policies/count.ts'
import type { Schema } from './json-schema.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * The problems of a value, a sentence each, which starts with the `path` of the part. Reads own properties only, and
 * only as deep as the schema.
 */
export function check(value: unknown, schema: Schema, path: string): readonly string[] {
  const { if: condition, then: yes, else: no } = schema
  if (condition) {
    const branch = check(value, condition, path).length === 0 ? yes : no
    return branch ? check(value, branch, path) : []
  }
  if (!isPlainlyRight(value, schema)) {
    return [`${path} must be ${schema.description}; got ${formatValue(value)}.${hintFor(value, schema)}`]
  }
  if (Array.isArray(value)) return checkItems(value, schema, path)
  return isObject(value) ? checkObject(value, schema, path) : []
}

function hintFor(value: unknown, { enum: known = [] }: Schema): string {
  const hint =
    typeof value === 'string'
      ? guess(
          value,
          known.filter((each) => typeof each === 'string'),
        )
      : undefined
  return hint === undefined ? '' : ` ${hint}`
}

/** Whether type, range and pattern are right; members are checked separately. */
function isPlainlyRight(value: unknown, schema: Schema): boolean {
  const { type = [], pattern, minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema
  const types = typeof type === 'string' ? [type] : type
  if (types.length > 0 && !types.some((each) => isOf(each, value))) return false
  if (schema.const !== undefined && value !== schema.const) return false
  if (schema.enum && !(schema.enum as readonly unknown[]).includes(value)) return false
  if (typeof value === 'string') return pattern === undefined || new RegExp(pattern, 'u').test(value)
  return typeof value !== 'number' || (value >= minimum && value <= maximum && value > exclusiveMinimum)
}

function isOf(type: string, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'integer') return Number.isInteger(value)
  // JSON.parse reads 1e999 as Infinity.
  return type === 'number' ? Number.isFinite(value) : typeof value === type
}

/** Whether a value is an object of JSON: no list, and nothing that JSON.parse has yet to read or a promise to bring. */
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value) &&
  !(value instanceof Promise)

function checkItems(
  value: readonly unknown[],
  { items, minItems = 0, maxItems = Infinity }: Schema,
  path: string,
): readonly string[] {
  if (value.length < minItems) return [`${path} must not be empty.`]
  if (value.length > maxItems)
    return [`${path} must have at most ${maxItems} items; got ${value.length}. ${OF_EACH_CUSTOMER}`]
  return items ? value.flatMap((item, i) => check(item, items, `${path}[${i}]`)) : []
}

function checkObject(value: Json, schema: Schema, path: string): readonly string[] {
  if (Object.keys(value).length < (schema.minProperties ?? 0)) return [`${path} must not be empty.`]
  return [
    ...missing(value, schema, path),
    ...Object.entries(value).flatMap(([name, member]) => checkMember(name, member, schema, path)),
    ...(schema.allOf ?? []).flatMap((each) => check(value, each, path)),
  ]
}

function missing(
  value: Json,
  { required = [], oneOf, dependentRequired = {} }: Schema,
  path: string,
): readonly string[] {
  const has = (name: string): boolean => Object.hasOwn(value, name)
  const absent = required.filter((name) => !has(name)).map((name) => `${path} must have ${formatValue(name)}.`)
  for (const [name, others] of Object.entries(dependentRequired)) {
    for (const other of others) {
      if (has(name) && !has(other)) absent.push(`${path} must have ${formatValue(other)} beside ${formatValue(name)}.`)
    }
  }
  const choice = oneOf?.flatMap((each) => each.required)
  if (choice && choice.filter(has).length !== 1)
    absent.push(`${path} must have exactly one of ${choice.map(formatValue).join(', ')}.`)
  return absent
}

function checkMember(name: string, member: unknown, schema: Schema, path: string): readonly string[] {
  const { properties = {}, patternProperties = {}, additionalProperties } = schema
  if (Object.hasOwn(properties, name)) return check(member, properties[name] as Schema, memberPath(path, name))
  const patterns = Object.entries(patternProperties)
  const named = patterns.find(([pattern]) => new RegExp(pattern, 'u').test(name))
  if (named) return check(member, named[1], memberPath(path, name))
  if (additionalProperties !== false) return []
  const known = [...Object.keys(properties), ...patterns.map(([pattern, { title }]) => title ?? pattern)]
  return problemOf(() => checkOptions(path, { [name]: member }, known))
}

/** The path of the whole value, which the paths of its members do not contain. */
export const ROOT = 'the document'

/** A part's path in JavaScript notation. */
const memberPath = (path: string, name: string): string =>
  path === ROOT ? name : /^[a-z_$]\w*$/i.test(name) ? `${path}.${name}` : `${path}[${formatValue(name)}]`

/** The message of the QuotaError that a call throws; empty if it throws none. */
export function problemOf(call: () => unknown): readonly string[] {
  try {
    call()
    return []
  } catch (error) {
    return [sentenceOf(error)]
  }
}

/** Makes a call, and adds `path` to the QuotaError that it throws. */
export function at<T>(path: string, call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${path}: ${sentenceOf(error)}`)
  }
}

/** The message of a QuotaError without its link: the error of the whole document has one. */
function sentenceOf(error: unknown): string {
  if (error instanceof QuotaError) return withoutLink(error.message)
  throw error
}
