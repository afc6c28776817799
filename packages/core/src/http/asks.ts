import { QuotaError, shown } from '../errors.ts'
import type { Ask } from '../policy.ts'
import type { Soon } from '../soon.ts'
import type { Rule } from './rule.ts'

/** What a request asks of the policies that are for it, those in force and those that only watch. */
export type Asks = readonly [enforced: readonly Ask[], shadowed: readonly Ask[]]

/** Reads from a request what it asks: at once, unless a cost is known later only. */
export function asksOf<R, S>(rules: readonly Rule<R, S>[], request: R): Soon<Asks> {
  const asks: [Ask[], Ask[]] = [[], []]
  const pending: Promise<unknown>[] = []
  for (const { shadow, applies, policyFor, keyOf, costOf } of rules) {
    if (applies && !applies(request)) continue
    const key = keyOf(request)
    if (key === undefined) continue
    const found: { -readonly [K in keyof Ask]: Ask[K] } = { policy: policyFor(request), key: textKey(key), cost: 1 }
    const cost = costOf(request)
    if (typeof cost === 'number') found.cost = cost
    else {
      const known = cost.then((said) => {
        found.cost = said
      })
      // Should a later policy throw, nobody waits for this one any more.
      known.catch(() => {})
      pending.push(known)
    }
    asks[shadow ? 1 : 0].push(found)
  }
  return pending.length === 0 ? asks : Promise.all(pending).then(() => asks)
}

/** A key may be empty here, unlike in a program's own calls: what a request lacks is all such requests' key. */
function textKey(key: unknown): string {
  if (typeof key === 'string') return key
  throw new QuotaError('ERR_SPILLWAY_KEY', `key must return a string or undefined; got ${shown(key)}. Write String(…).`)
}
