import { keyReader, RequestParts } from '@spillway/core/http'
import { policiesFrom, type RuleKey } from '@spillway/core/rules'
import { UserError } from '../io.ts'
import type { Entry } from '../log/entry.ts'
import { claimedName } from '../policy-names.ts'
import { type PlanOptions, sourcesFor } from '../replay/plan.ts'
import type { Spool } from './spool.ts'
import { PERIODS, type Period, type Suggestion, tightest } from './tightest.ts'

/** The requests of a log by one key selector. */
export interface Selected {
  readonly key: string
  readonly spool: Spool
  readonly counts: {
    /** Requests without a key, which count as one client. */
    keyless: number
  }
  add(entry: Entry, at: number): void
}

/** Collects requests by a key selector. Throws a UserError if it is invalid. */
export function selectedBy(key: string, spool: Spool, options: PlanOptions): Selected {
  const rule = { name: 'x', limit_keys: [key], algorithm: 'token_bucket', algorithm_config: { rps: 1, burst: 1 } }
  let policies: ReturnType<typeof policiesFrom>
  try {
    // The parser of policies checks the selector.
    policies = policiesFrom([rule])
  } catch {
    throw new UserError(`--key is a selector such as ip, header:x-api-key or claim:user; got ${JSON.stringify(key)}.`)
  }
  const keyOf = keyReader(policies[0]?.key as RuleKey, sourcesFor(policies, options))
  const counts = { keyless: 0 }
  return {
    key,
    spool,
    counts,
    add: (entry, at) => {
      const key = (keyOf(new RequestParts(entry)) ?? '') as string
      if (key === '') counts.keyless++
      spool.add(key, at)
    },
  }
}

/** The tightest quotas for one selector, each on its own. */
export const suggestionsFor = ({ spool }: Selected, periods: readonly Period[], most: number): readonly Suggestion[] =>
  spool.size === 0 ? [] : periods.map((per) => tightest(spool, per, most))

/** Suggestions by selector as rules of JSON, for `replay`, `check` and `policiesFrom`. */
export function rulesOf(
  found: readonly { readonly key: string; readonly suggestions: readonly Pick<Suggestion, 'per' | 'limit'>[] }[],
): readonly object[] {
  const names = new Set<string>()
  return found.flatMap(({ key, suggestions }) =>
    suggestions.map(({ per, limit }) => ({
      name: claimedName(`${key.slice(0, LONGEST_KEY)} per ${per}`, names),
      limit_keys: [key],
      algorithm: 'token_bucket',
      algorithm_config: { limit, per: PERIODS[per], burst: limit },
    })),
  )
}

/** The most characters of a selector in a name, so that the period is not cut off. */
const LONGEST_KEY = 80
