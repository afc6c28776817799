import { formatValue } from './errors.ts'
import { checkNames } from './options.ts'

// What to write instead of a name that is not known. Lean entries leave it out.

/** Checks the names of options, as `checkNames` does. The error proposes the hint of `hintFor`, or the nearest known name. */
export const checkOptions = (
  where: string,
  options: unknown,
  known: readonly string[],
  hintFor?: (name: string, given: readonly string[]) => string | undefined,
): void => checkNames(where, options, known, (name, given) => hintFor?.(name, given) ?? guess(name, known))

/** A question that proposes the nearest known name; undefined if none is near. */
export function guess(name: string, known: readonly string[]): string | undefined {
  const meant = nearest(name, known)
  return meant && `Did you mean ${formatValue(meant)}?`
}

/** The known name nearest to a misspelt one; undefined if none is near. */
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

/** What to write here, with the names that other rate limiters have for it. */
const PEER_NAMES: Readonly<Record<string, string>> = {
  'quota: perMinute(100)': 'windowMs max limit points duration timeWindow',
  'quota: penalty(…)': 'blockDuration penalty',
  'quota: leakyBucket(…)': 'execEvenly',
  name: 'identifier keyPrefix namespace',
  key: 'keyGenerator generator',
  headers: 'standardHeaders legacyHeaders',
  'headers: false': 'disableHeader',
  onDenied: 'handler message statusCode errorMessage',
  refundIf: 'skipFailedRequests skipSuccessfulRequests requestWasSuccessful',
  skip: 'allowList whitelist',
  ipv6Prefix: 'ipv6Subnet',
  onStoreError: 'insuranceLimiter',
  'always decisionOf(request)': 'requestPropertyName',
}

/** What to write here for an option of another rate limiter. */
export const peerOption = (name: string): string | undefined =>
  Object.keys(PEER_NAMES).find((here) => PEER_NAMES[here]?.split(' ').includes(name))

/** The hint for an option of another rate limiter that is one of the `known` here, or for a quota instead of options. */
export function hintOfPeer(name: string, known: readonly string[]): string | undefined {
  if (name === 'kernel') return 'This is a quota: write { quota: perMinute(100) }.'
  const here = peerOption(name)
  return here && known.includes(here.split(':', 1)[0] as string) ? `Here that is ${here}.` : undefined
}
