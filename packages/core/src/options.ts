import { formatValue, QuotaError } from './errors.ts'

/**
 * Refuses an options object that is none, or that has a name nobody reads, and says what to write instead: what
 * `hintFor` knows, or the name that was likely meant.
 */
export function checkOptions(
  where: string,
  options: unknown,
  known: readonly string[],
  hintFor?: (name: string, given: readonly string[]) => string | undefined,
): void {
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${where} takes an object of options; got ${formatValue(options)}.`)
  }
  const given = Object.keys(options)
  for (const name of given) {
    if (known.includes(name)) continue
    const hint = hintFor?.(name, given) ?? guess(name, known) ?? `It knows ${known.join(', ')}.`
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${where} has no option ${formatValue(name)}. ${hint}`)
  }
}

/** The question whether the nearest of the known names was meant; undefined where none is near. */
export function guess(name: string, known: readonly string[]): string | undefined {
  const meant = nearest(name, known)
  return meant && `Did you mean ${formatValue(meant)}?`
}

/** Refuses what is to be called and cannot be. */
export function checkFunctions<T extends object>(options: T, names: readonly string[]): void {
  for (const name of names) {
    const value: unknown = options[name as keyof T]
    if (value === undefined || typeof value === 'function') continue
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${name} must be a function; got ${formatValue(value)}.`)
  }
}

/** The known name that a misspelt one is closest to, if it is close at all. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= Math.max(2, name.length / 3) ? best.candidate : undefined
}

/** The Levenshtein distance, by its textbook recurrence, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const previous = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min((previous[j] as number) + 1, (row[j - 1] as number) + 1, swap))
    }
  }
  return row[b.length] as number
}

/** Checks a switch; `name` is the option's name in the error. False if it is not given. */
export function checkBoolean(name: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false
  throw new QuotaError('ERR_SPILLWAY_OPTION', `${name} must be true or false; got ${formatValue(value)}.`)
}
