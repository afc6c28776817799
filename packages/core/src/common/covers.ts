import { isObject } from './options.ts'

/**
 * Reports whether a `match` certainly holds for all requests for which another holds: each of its conditions is one of the
 * other, a list that includes it, or a path above it. What functions select is not known.
 */
export const covers = (wide: unknown, narrow: unknown): boolean =>
  wide === undefined || (typeof wide !== 'function' && includes(wide, narrow))

function includes(wide: unknown, narrow: unknown, part?: string): boolean {
  if (wide === narrow) return true
  if (Array.isArray(narrow)) return narrow.every((each) => includes(wide, each, part))
  if (Array.isArray(wide)) return wide.some((each) => includes(each, narrow, part))
  if (part === 'path') {
    const [, parent] = /^(.*)\/\*\*?$/.exec(String(wide)) ?? []
    return parent !== undefined && `${narrow}/`.startsWith(`${parent}/`)
  }
  if (!isObject(wide) || !isObject(narrow)) return false
  return Object.entries(wide).every(([name, value]) => includes(value, narrow[name], part === undefined ? name : ''))
}
