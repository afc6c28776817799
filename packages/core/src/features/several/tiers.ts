import type { MaybePromise } from '../../common/maybe-promise.ts'
import { checkOf } from '../../http/pipeline/check.ts'
import type { CompiledPolicy, HttpCheck } from '../../http/pipeline/compiled.ts'
import type { Read, RequestSources } from '../../http/pipeline/request-sources.ts'
import type { RequestParts } from '../../http/requests/parts.ts'
import type { MatchingPolicy, MatchOptions } from '../matching/index.ts'
import { matcher } from '../matching/match.ts'

/** A policy that is a tier of a group. */
export interface TieredPolicy<R, S> extends MatchingPolicy<R, S> {
  /** The group of tiers of which a request has one. */
  readonly tiers?: string
  /** Whether it applies to a path with empty parameters if no tier of its group applies to it as it is. */
  readonly appliesToEmpty?: Read<R, boolean> | undefined
}

/** The test of a path with empty parameters, which a function and other conditions than a path do not distinguish. */
export const emptyMatcher = <R>(options: object, requestSources: RequestSources<R>): Read<R, boolean> | undefined => {
  const { match } = options as MatchOptions<R>
  const ofPaths = [match ?? []].flat().filter((each) => typeof each === 'object' && each.path !== undefined)
  return ofPaths.length > 0 && requestSources.reader.hasEmptyParameters !== undefined
    ? matcher('match', ofPaths, requestSources)
    : undefined
}

/**
 * Policies as groups of tiers, in the order of their first; a policy without tiers is a group of its own. With empty
 * parameters a path may be that of another route, so all tiers are tried without before any is tried with them: one that has
 * them must not take the place of one that does not. A tier for all others is last: else it would be a way around them.
 */
export function groupsOf<R, S>(policies: readonly CompiledPolicy<R, S>[]): readonly (readonly TieredPolicy<R, S>[])[] {
  const groups = new Map<unknown, TieredPolicy<R, S>[]>()
  for (const each of policies as readonly TieredPolicy<R, S>[]) {
    // A policy without tiers is a group by itself.
    const group = each.tiers ?? each
    const known = groups.get(group)
    if (known === undefined) groups.set(group, [each])
    else known.push(each)
  }
  return [...groups.values()].map((tiers) => {
    const [conditional, others] = [tiers.filter(({ applies }) => applies), tiers.filter(({ applies }) => !applies)]
    return [...conditional, ...conditional.flatMap(withEmpty), ...others]
  })
}

/** A tier with its test of paths with empty parameters. */
const withEmpty = <R, S>(tier: TieredPolicy<R, S>): readonly TieredPolicy<R, S>[] =>
  tier.appliesToEmpty === undefined ? [] : [{ ...tier, applies: tier.appliesToEmpty }]

/** The check of the first tier that applies to the request. */
export function firstOf<R, S>(
  tiers: readonly TieredPolicy<R, S>[],
  parts: RequestParts<R>,
): MaybePromise<HttpCheck<R, S> | undefined> {
  // No recursion: there may be a thousand tiers.
  for (const [i, tier] of tiers.entries()) {
    const applies = tier.applies?.(parts)
    if (applies instanceof Promise) return firstLater(tiers, i, applies, parts)
    if (applies !== false) return checkOf(tier, parts)
  }
  return undefined
}

/** The same, from a tier on whose function has returned a promise. */
async function firstLater<R, S>(
  tiers: readonly TieredPolicy<R, S>[],
  index: number,
  pending: Promise<boolean>,
  parts: RequestParts<R>,
): Promise<HttpCheck<R, S> | undefined> {
  let applies: boolean | undefined = await pending
  for (const [i, tier] of tiers.slice(index).entries()) {
    if (i > 0) applies = await tier.applies?.(parts)
    if (applies !== false) return checkOf(tier, parts)
  }
  return undefined
}
