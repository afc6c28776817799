import { formatValue, QuotaError } from '../../common/errors.ts'

/** The selectors with a name, and the names that can occur. */
const NAMES: ReadonlyMap<string, RegExp> = new Map([
  // A token (RFC 9110, section 5.6.2).
  ['header', /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/],
  ['cookie', /^[^\s;=]+$/],
  ['query', /^\S(.*\S)?$/s],
  ['claim', /^\S(.*\S)?$/s],
])

const NAMELESS: readonly string[] = ['ip', 'method', 'path']

/** Splits a selector into its kind and its name. Throws a QuotaError for a name that is missing or cannot occur. */
export function splitSelector(selector: unknown): readonly [kind: string, name: string] {
  const [kind = '', ...rest] = typeof selector === 'string' ? selector.split(':') : []
  const name = rest.join(':')
  if (NAMES.has(kind)) return [kind, checkName(kind, name)]
  if (NAMELESS.includes(kind) && rest.length > 0) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${formatValue(selector)} has no name: write '${kind}'.`)
  }
  return [kind, name]
}

/** Checks that a header, cookie, parameter or claim can have this name. Returns header names in lower case. */
export function checkName(kind: string, name: string): string {
  if (NAMES.get(kind)?.test(name)) return kind === 'header' ? name.toLowerCase() : name
  const proposed = name
    .trim()
    .toLowerCase()
    .replace(/[\s;=:,]+/g, '-')
  const problem = proposed === '' ? 'has no name' : 'can never occur'
  const example = NAMES.get(kind)?.test(proposed) ? `, such as '${kind}:${proposed}'` : ''
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${formatValue(`${kind}:${name}`)} ${problem}: write '${kind}:NAME'${example}.`,
  )
}

/** The key of several parts. The length of each is included, so that different lists of parts never result in one key. */
export const joinParts = (texts: readonly string[]): string => texts.map((text) => `${text.length}:${text}`).join('')
