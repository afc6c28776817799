import type { Quota } from '../../algorithms/quota-types.ts'
import { maxUnits } from '../../algorithms/verbs.ts'
import { formatValue } from '../../common/errors.ts'
import { andThen } from '../../common/maybe-promise.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import type { Complete } from '../../http/pipeline/compiled.ts'
import type { Read } from '../../http/pipeline/request-sources.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { selectors } from '../selectors/index.ts'
import { type CostOptions, costReader } from './request-cost.ts'

/** The types of its options. */
export interface CostTypes extends OptionTypes {
  readonly policy: CostOptions<this['request']>
}

/** `cost`: the units that a request consumes. */
export const costs: Feature<CostTypes> = {
  name: 'costs',
  policyOptions: ['cost', 'defaultCost', 'maxCost'],
  needs: [selectors],
  layers: { policy },
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const compiled = next(options, building)
    const own = options as CostOptions<R> & { readonly name?: string }
    const costOf = costReader(own, building.setup)
    if (compiled.policy !== undefined) {
      warnOfCost(own.name ?? 'default', compiled.policy.quota, own, building.setup.logger)
    }
    const { cost = 1 } = own
    if (typeof cost === 'number') return { ...compiled, cost }
    return { ...compiled, completes: [...compiled.completes, readingCost(costOf)] }
  }
}

const readingCost =
  <R, S>(costOf: Read<R, number>): Complete<R, S> =>
  (check, parts) =>
    andThen(costOf(parts), (known) => {
      check.cost = known
    })

/** Warns of a cost that is more than the quota ever allows at once: such requests are always denied. */
function warnOfCost<R>(
  name: string,
  quota: Quota,
  { cost, defaultCost, maxCost }: CostOptions<R>,
  logger: Logger,
): void {
  const most = maxUnits(quota)
  // No other cost is allowed either.
  if (most === 0) return
  for (const [option, units] of Object.entries({ cost, defaultCost, maxCost })) {
    // A default above maxCost is maxCost.
    if (typeof units !== 'number' || Math.min(units, maxCost ?? units) <= most) continue
    warnOnce(
      logger,
      'WARN_SPILLWAY_ALWAYS_DENIED',
      'a request is always denied: ',
      `policy ${formatValue(name)} never allows more than ${most} units at once, but its ${option} is ${units}. Lower ${option}, or raise the quota's burst.`,
    )
  }
}
