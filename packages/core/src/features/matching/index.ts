import { NONE } from '../../algorithms/decision-of.ts'
import { andThen, type MaybePromise } from '../../common/maybe-promise.ts'
import { readingOne } from '../../http/pipeline/check.ts'
import type { CompiledPolicy, HttpCheck } from '../../http/pipeline/compiled.ts'
import type { Read } from '../../http/pipeline/request-sources.ts'
import type { ChecksBuilder, Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { selectors } from '../selectors/index.ts'
import { type MatchOption, matcher } from './match.ts'

/** The option for the requests that a policy applies to. */
export interface MatchOptions<R> {
  /**
   * The requests that the policy applies to: conditions, a function, or a list of these, of which one must hold.
   * @default all requests
   */
  readonly match?: MatchOption<R>
}

/** The option for requests that are not counted. */
export interface SkipOptions<R> {
  /**
   * Requests that are allowed without being counted, by every policy: an allow list such as `{ ip: ['10.0.0.0/8',
   * '2001:db8::7'] }`, a function, or a list of these, of which one must hold.
   * @default none
   */
  readonly skip?: MatchOption<R>
}

/** A policy that applies to some requests. */
export interface MatchingPolicy<R, S> extends CompiledPolicy<R, S> {
  /** Undefined if it applies to all. */
  readonly applies?: Read<R, boolean> | undefined
}

/** The types of its options. */
export interface MatchingTypes extends OptionTypes {
  readonly limiter: SkipOptions<this['request']>
  readonly policy: MatchOptions<this['request']>
}

/** `match` and `skip`: which requests are counted. */
export const matching: Feature<MatchingTypes> = {
  name: 'matching',
  options: ['skip'],
  policyOptions: ['match'],
  needs: [selectors],
  layers: { skips, policy, checks },
}

function skips<R, S>(): Seams<R, S>['skips'] {
  return (setup) => matcher('skip', (setup.options as SkipOptions<R>).skip, setup)
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const compiled = next(options, building)
    const { match } = options as MatchOptions<R>
    if (match === undefined) return compiled
    const { tiers } = options as { readonly tiers?: unknown }
    const [own, ...others] = compiled.registrations
    const matched: MatchingPolicy<R, S> = {
      ...compiled,
      registrations: [{ ...own, match }, ...others],
      // Of tiers, those that apply as the path is written come first.
      applies: matcher('match', match, building.setup, tiers === undefined),
    }
    return matched
  }
}

/** The check of the only policy, if it applies. */
function checks<R, S>(next: Seams<R, S>['checks']): Seams<R, S>['checks'] {
  return (policies) => {
    const [only] = policies as readonly MatchingPolicy<R, S>[]
    if (only?.applies === undefined || policies.length > 1) return next(policies)
    return readingMatching(only.applies, readingOne(only))
  }
}

const readingMatching =
  <R, S>(applies: Read<R, boolean>, read: ChecksBuilder<R, S>): ChecksBuilder<R, S> =>
  (parts): MaybePromise<readonly HttpCheck<R, S>[]> =>
    andThen(applies(parts), (known) => (known ? read(parts) : NONE))
