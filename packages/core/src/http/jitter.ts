import type { Decision } from '../decision.ts'
import { QuotaError, shown } from '../errors.ts'
import { seconds } from './headers.ts'

/**
 * The seconds of `Retry-After`: the exact wait in whole seconds, rounded up, and a share of it on top that is the
 * key's own, up to `jitter` times the wait, so that clients refused together do not come back together. Never
 * earlier than the exact wait; the same for the same wait and key.
 */
export function retryAfterSeconds({ retryAfterMs }: Decision, key: string, jitter: number): number {
  const wait = seconds(retryAfterMs)
  // Whole seconds from none to all that jitter allows, each as likely as the others.
  return jitter === 0 ? wait : wait + Math.floor(shareOf(key) * (Math.floor(wait * jitter) + 1))
}

/** Reports `jitter` if it is 0 to 0.5, the share of the wait that may be added, and 0 if it is not given. */
export function checkJitter(jitter: unknown): number {
  if (jitter === undefined) return 0
  if (typeof jitter === 'number' && jitter >= 0 && jitter <= 0.5) return jitter
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `jitter must be 0 to 0.5, the share of the wait that is added at most; got ${shown(jitter)}. Write 0.5 for 50 %.`,
  )
}

/** A number from 0 up to 1 that a key always has: FNV-1a, mixed once more because similar keys come out close. */
function shareOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash >>> 0) / 2 ** 32
}
