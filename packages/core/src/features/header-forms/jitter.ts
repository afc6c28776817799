import type { Decision } from '../../algorithms/decision.ts'
import { hash32 } from '../../common/digest.ts'
import { invalidOption } from '../../common/errors.ts'
import { seconds } from '../../http/headers/answer-headers.ts'

/**
 * The milliseconds of `Retry-After`: the exact wait or, with `jitter`, the wait in whole seconds plus a fraction of it, 0 to
 * `jitter`, that depends on the key. Clients that are denied together do not retry together. Never less than the exact
 * wait; the same for the same wait and key.
 */
export function jitteredMs({ retryAfterMs }: Decision, key: string, jitter: number): number {
  if (jitter === 0) return retryAfterMs
  const wait = seconds(retryAfterMs)
  // A uniform choice among the whole seconds from 0 to the largest addition.
  return (wait + Math.floor((hash32(key) / 2 ** 32) * (Math.floor(wait * jitter) + 1))) * 1000
}

/** Returns `jitter`, the fraction of the wait that may be added, if it is 0 to 0.5. Default: 0. */
export function checkJitter(jitter: unknown): number {
  if (jitter === undefined) return 0
  if (typeof jitter === 'number' && jitter >= 0 && jitter <= 0.5) return jitter
  throw invalidOption(
    'jitter must be 0 to 0.5, the largest fraction of the wait that is added',
    jitter,
    'Write 0.5 for 50 %.',
  )
}
