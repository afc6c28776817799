/** An object as JSON.parse returns it. */
export type Json = Readonly<Record<string, unknown>>

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The values of a line at the paths that were picked. */
export type Values = readonly unknown[]

/** Reads the values of lines that have the shape of one; undefined if a line has another. */
export type ReadShape = (line: string) => Values | undefined

const CHARACTERS = '[^"\\\\\\x00-\\x1f]*'
const STRING = `"${CHARACTERS}"`
const NUMBER = '-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?'
const SCALAR = `(?:${STRING}|${NUMBER}|true|false|null)`
/** How deep the values are nested that no policy reads. */
const DEPTH = 2
/** Longer lines are left to JSON.parse: a long match needs a large stack. */
const LONGEST = 4096

const list = (item: string): string => `(?:${item}(?:,(?![\\]}])|(?=[\\]}])))*`
const arrayOf = (depth: number): string => `\\[${list(nested(depth - 1))}\\]`
const objectOf = (depth: number): string => `\\{${list(`${STRING}:${nested(depth - 1)}`)}\\}`
const nested = (depth: number): string => (depth < 0 ? SCALAR : `(?:${SCALAR}|${arrayOf(depth)}|${objectOf(depth)})`)
const [ARRAY, OBJECT] = [arrayOf(DEPTH), objectOf(DEPTH)]

/** What was found in a line. */
export interface Learned {
  /** The path of each value; undefined if the line has none. */
  readonly picked: readonly (string | undefined)[]
  /** The paths that were tried before those, without a usable value. */
  readonly passed: readonly string[]
}

/**
 * Learns the shape of a line: the names of its values in their order, and the kinds of those that were picked. JSON without
 * escapes that has the same shape is read by one regular expression, which is faster than JSON.parse. `known` are all
 * paths that could be picked: whether a line has them is part of its shape, and so are the values that were passed over.
 * Returns undefined if the line is not as JSON.stringify writes it, or if a picked value is in a list, or is a list, true,
 * false or null.
 */
export function shapeOf(line: string, json: Json, learned: Learned, known: readonly string[]): ReadShape | undefined {
  // So no name occurs twice, and none is a number, which an object would move to its front.
  if (line.length > LONGEST || line.includes('\\') || JSON.stringify(json) !== line) return undefined
  const groups: Group[] = []
  const pattern = membersOf(json, '', { ...learned, known, groups })
  if (pattern === undefined || !learned.picked.every((path) => isCaptured(path, groups))) return undefined
  return readerOf(new RegExp(`^${pattern}$`), learned.picked, groups)
}

/** Whether a group has the value of a path: without one, all lines would be read as if they had none. */
const isCaptured = (path: string | undefined, groups: readonly Group[]): boolean =>
  path === undefined || groups.some((each) => each.path === path)

/** What a group of the regular expression captures. */
interface Group {
  readonly path: string
  readonly isNumber: boolean
}

interface Learning extends Learned {
  readonly known: readonly string[]
  readonly groups: Group[]
}

/** The pattern of an object with these names; undefined if it cannot be read by one. */
function membersOf(value: Json, path: string, learning: Learning): string | undefined {
  const members: string[] = []
  for (const [name, member] of Object.entries(value)) {
    // A path has dots between its names.
    if (name.includes('.')) return undefined
    const pattern = memberOf(member, path === '' ? name : `${path}.${name}`, learning)
    if (pattern === undefined) return undefined
    members.push(`${escaped(JSON.stringify(name))}:${pattern}`)
  }
  return `\\{${members.join(',')}\\}`
}

function memberOf(value: unknown, path: string, learning: Learning): string | undefined {
  const hasPaths = learning.known.some((each) => each.startsWith(`${path}.`))
  if (isJson(value)) return hasPaths ? membersOf(value, path, learning) : OBJECT
  // A path may have the index of an item in it.
  if (Array.isArray(value) && hasPaths) return undefined
  const isPicked = learning.picked.includes(path)
  // Another value could be usable: it would be picked instead.
  if (learning.passed.includes(path)) return isPicked ? undefined : escaped(JSON.stringify(value))
  if (isPicked) return captured(value, path, learning.groups)
  return Array.isArray(value) ? ARRAY : SCALAR
}

function captured(value: unknown, path: string, groups: Group[]): string | undefined {
  const isNumber = typeof value === 'number'
  if (!isNumber && typeof value !== 'string') return undefined
  groups.push({ path, isNumber })
  return isNumber ? `(${NUMBER})` : `"(${CHARACTERS})"`
}

function readerOf(shape: RegExp, picked: readonly (string | undefined)[], groups: readonly Group[]): ReadShape {
  const fields = picked.map((path) => {
    const index = groups.findIndex((each) => each.path === path)
    return { group: index + 1, isNumber: groups[index]?.isNumber === true }
  })
  return (line) => {
    const match = line.length > LONGEST ? null : shape.exec(line)
    if (match === null) return undefined
    const values: unknown[] = []
    for (const { group, isNumber } of fields) {
      const value = group === 0 ? undefined : match[group]
      values.push(isNumber ? Number(value) : value)
    }
    return values
  }
}

const escaped = (text: string): string => text.replace(/[$()*+./?[\\\]^{|}-]/g, '\\$&')
