import { QuotaError, shown } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import type { Ask } from '../policy.ts'
import type { Rule } from './rule.ts'

/** What a request asks of the policies that are for it. */
export interface Asks {
  /** Of those in force. */
  readonly enforced: readonly Ask[]
  /** Of those that only watch. */
  readonly shadowed: readonly Ask[]
}

const NONE: readonly Ask[] = Object.freeze([])

/** Reads from a request what it asks: at once, unless a cost is known later only. */
export function asksOf<R, S>(rules: readonly Rule<R, S>[], request: R): MaybePromise<Asks> {
  const enforced: Ask[] = []
  // Most requests need neither of them.
  let shadowed: Ask[] | undefined
  let pending: Promise<unknown>[] | undefined
  for (const rule of rules) {
    if (rule.applies && !rule.applies(request)) continue
    const key = rule.keyOf(request)
    if (key === undefined) continue
    const found: { -readonly [K in keyof Ask]: Ask[K] } = {
      policy: rule.policyFor(request),
      key: textKey(key),
      cost: 1,
    }
    const cost = rule.costOf(request)
    if (typeof cost === 'number') found.cost = cost
    else {
      const known = cost.then((said) => {
        found.cost = said
      })
      // Should a later policy throw, nobody waits for this one any more.
      known.catch(() => {})
      pending ??= []
      pending.push(known)
    }
    if (rule.shadow) {
      shadowed ??= []
      shadowed.push(found)
    } else enforced.push(found)
  }
  const asks = { enforced, shadowed: shadowed ?? NONE }
  return pending === undefined ? asks : Promise.all(pending).then(() => asks)
}

/** A key may be empty here, unlike in a program's own calls: what a request lacks is all such requests' key. */
function textKey(key: unknown): string {
  if (typeof key === 'string') return key
  throw new QuotaError('ERR_SPILLWAY_KEY', `key must return a string or undefined; got ${shown(key)}. Write String(…).`)
}
