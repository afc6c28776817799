import { QuotaError, shown } from '../errors.ts'
import { checkOptions } from '../options.ts'
import type { Claims, RequestReader } from './reader.ts'

/** Which requests a policy is for. All that is given must hold; of a list, one. */
export interface Match {
  readonly method?: string | readonly string[]
  /** Patterns such as `/login`, `/users/:id` (any one segment) and `/api/*` (everything below, and `/api` itself). */
  readonly path?: string | readonly string[]
  /** Values that headers must have; `true` for any. */
  readonly header?: Readonly<Record<string, string | true>>
  /** Values that verified claims must have. */
  readonly claim?: Readonly<Record<string, string | number | boolean>>
}

export type MatchOption<R> = Match | ((request: R) => boolean)

/** Compiles a match, once, into the test that a request must pass. */
export function matcher<R>(
  option: MatchOption<R> | undefined,
  reader: RequestReader<R>,
  claims: Claims<R> | undefined,
): ((request: R) => boolean) | undefined {
  if (option === undefined || typeof option === 'function') return option
  checkOptions('match', option, ['method', 'path', 'header', 'claim'])
  const tests: ((request: R) => boolean)[] = []
  if (option.method !== undefined) {
    const methods = texts('match.method', option.method).map((method) => method.toUpperCase())
    tests.push((request) => methods.includes(reader.method(request)))
  }
  if (option.path !== undefined) {
    const patterns = texts('match.path', option.path).map(segmentsOf)
    tests.push((request) => {
      const path = segmentsOf(reader.path(request))
      return patterns.some((pattern) => fits(pattern, path))
    })
  }
  for (const [name, wanted] of Object.entries(option.header ?? {})) {
    const header = name.toLowerCase()
    tests.push((request) => {
      const value = reader.header(request, header)
      return wanted === true ? Boolean(value) : value === wanted
    })
  }
  for (const [name, wanted] of Object.entries(option.claim ?? {})) {
    tests.push((request) => claimOf(claims, request, name) === wanted)
  }
  return (request) => tests.every((test) => test(request))
}

/** A claim that the app has verified; undefined where there is none. */
export function claimOf<R>(claims: Claims<R> | undefined, request: R, name: string): unknown {
  const known = claims?.(request)
  return known !== undefined && known !== null && Object.hasOwn(known, name) ? known[name] : undefined
}

/**
 * The segments of a path, as lenient as the most lenient router: no empty ones, in lower case, decoded. A policy must
 * not be walked around by another spelling of the same address.
 */
function segmentsOf(path: string): readonly string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decoded(segment).toLowerCase())
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  const open = pattern.at(-1) === '*'
  const fixed = open ? pattern.slice(0, -1) : pattern
  if (open ? path.length < fixed.length : path.length !== fixed.length) return false
  return fixed.every((segment, i) => segment.startsWith(':') || segment === path[i])
}

function texts(what: string, value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > 0 && list.every((each) => typeof each === 'string')) return list as readonly string[]
  throw new QuotaError('ERR_SPILLWAY_OPTION', `${what} must be text or a list of it; got ${shown(value)}.`)
}
