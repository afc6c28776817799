import { formatThrown, invalidOption, withoutLink } from '../../common/errors.ts'
import { andThen, caught, type MaybePromise } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import type { CompiledPolicy, HttpCheck } from '../../http/pipeline/compiled.ts'
import type { Feature, OptionTypes, Seams, Setup } from '../../http/pipeline/seams.ts'
import type { RequestParts } from '../../http/requests/parts.ts'
import { acquire } from '../../policies/acquisition.ts'
import { rollback } from '../../policies/correct.ts'
import type { Acquisition } from '../../policies/policy.ts'
import { shadowName } from '../../policies/state-names.ts'
import { blocks, withBlockLists } from '../blocks/index.ts'
import { reporter } from '../events/events.ts'
import { type EventOptions, events } from '../events/index.ts'
import { firstOf, groupsOf } from '../several/tiers.ts'

/** The option for policies that only count. */
export interface ModeOptions {
  /**
   * `'shadow'` counts and reports, in a state of its own, but never denies.
   * @default `'enforce'`
   */
  readonly mode?: 'enforce' | 'shadow'
}

/** A policy that may only count. */
interface ModePolicy<R, S> extends CompiledPolicy<R, S> {
  readonly mode?: 'shadow'
}

/** Whether a policy only counts. */
export const isShadow = <R, S>(compiled: CompiledPolicy<R, S>): boolean =>
  (compiled as ModePolicy<R, S>).mode === 'shadow'

/** The types of its options. */
export interface ShadowTypes extends OptionTypes {
  readonly policy: ModeOptions
}

/** `mode: 'shadow'`: a policy that counts and reports, but never denies. */
export const shadow: Feature<ShadowTypes> = {
  name: 'shadow',
  policyOptions: ['mode'],
  needs: [blocks, events],
  layers: { policy, checks, enforce },
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const { mode = 'enforce', name = 'default' } = options as ModeOptions & { readonly name?: string }
    if (mode === 'enforce') return next(options, building)
    if (mode !== 'shadow') {
      throw invalidOption("mode must be 'enforce' or 'shadow'", mode)
    }
    const shadow: ModePolicy<R, S> = { ...next(options, { ...building, stateName: shadowName(name) }), mode }
    return shadow
  }
}

function checks<R, S>(next: Seams<R, S>['checks']): Seams<R, S>['checks'] {
  return (policies) => next(policies.filter((each) => !isShadow(each)))
}

/** The request neither waits for a shadow policy nor fails with it. */
function enforce<R, S>(next: Seams<R, S>['enforce']): Seams<R, S>['enforce'] {
  return (policies, setup) => {
    const shadows = policies.filter(isShadow)
    if (shadows.length === 0) return next(policies, setup)
    const consume = next(
      policies.filter((each) => !isShadow(each)),
      setup,
    )
    const watch = watching(shadows, setup)
    return (parts, checks) => {
      const beside = watch(parts)
      parts.beside = beside
      return caught(
        () => consume(parts, checks),
        (thrown) => {
          // It counts when it passes again, from a handler of errors.
          for (const each of beside) void andThen(each, (known) => known && rollback(known).catch(() => {}))
          throw thrown
        },
      )
    }
  }
}

type Watch<R> = (parts: RequestParts<R>) => readonly MaybePromise<Acquisition | undefined>[]

/** Builds what consumes the units of shadow policies, of each policy or group of tiers by itself. */
function watching<R, S>(shadows: readonly CompiledPolicy<R, S>[], { options, logger }: Setup<R, S>): Watch<R> {
  const report = reporter((options as EventOptions<R>).onDecision, logger)
  const groups = groupsOf(shadows)
  const failed = (thrown: unknown): undefined => warnOfShadow(logger, thrown)
  const consume = (check: HttpCheck<R, S> | undefined, request: R): MaybePromise<Acquisition | undefined> =>
    check &&
    andThen(acquire('consume', withBlockLists([check])), (acquisition) => {
      report(acquisition.decision, check.key, request, 'shadow')
      return acquisition
    })
  return (parts) =>
    groups
      .map((tiers) => caught(() => andThen(firstOf(tiers, parts), (check) => consume(check, parts.request)), failed))
      .filter((acquisition) => acquisition !== undefined)
}

function warnOfShadow(logger: Logger, thrown: unknown): undefined {
  const message = withoutLink(formatThrown(thrown))
  warnOnce(logger, 'WARN_SPILLWAY_SHADOW', 'a shadow policy failed; requests are not affected: ', message)
}
