import { formatValue } from '../common/errors.ts'
import { commonDenominator, times } from './decimal.ts'

const RATES = ['tokens_per_second', 'rps'] as const
/** The fields that count units, and are whole numbers. */
const UNITS = ['limit', 'after', 'burst', 'overdraft', 'initial', 'fixed_cost', 'default_cost', 'max_cost'] as const

type Config = Readonly<Record<string, unknown>>

/**
 * How to write the same limit in whole units, if the numbers of a config have fractions of a unit: a smaller unit, in
 * which all numbers are whole. Empty if they have none, or if other mistakes have to be mended first.
 */
export function wholeUnits(config: unknown, path: string): readonly string[] {
  // A leaky bucket is not the same in another unit: it lets units out one by one.
  if (typeof config !== 'object' || config === null || Object.hasOwn(config, 'queue')) return []
  const numbers = unitsOf(config as Config)
  const factor = commonDenominator(UNITS.flatMap((name) => numbers?.[name] ?? []))
  if (numbers === undefined || factor === 1) return []
  const scaled = Object.entries(numbers).map(([name, value]) => [name, times(value, factor)] as const)
  // Also if they are too small or too large for any factor, and the products are not numbers.
  if (!scaled.every(([, value]) => value <= Number.MAX_SAFE_INTEGER)) {
    return [
      `${path}: units are whole numbers. Round these numbers to fewer decimals; then multiply the rate, the burst and all costs by the same number.`,
    ]
  }
  const source = (config as Config).cost_source ?? 'fixed'
  const client = source === 'fixed' ? '' : `, and count them in ${formatValue(source)}, too`
  return [
    `${path}: units are whole numbers. Count units of 1/${factor}: write ${JSON.stringify(Object.fromEntries(scaled))}${client}.`,
  ]
}

/** The numbers of units in a config, with the defaults that another unit changes. */
function unitsOf(config: Config): Readonly<Record<string, number>> | undefined {
  const fixed = (config.cost_source ?? 'fixed') === 'fixed'
  const rate = config.tokens_per_second ?? config.rps
  const complete = {
    ...(typeof rate === 'number' && { burst: Math.ceil(rate) }),
    [fixed ? 'fixed_cost' : 'default_cost']: 1,
    ...config,
  } as Config
  const known: Record<string, number> = {}
  for (const name of [...RATES, ...UNITS]) {
    const value = complete[name]
    if (value === undefined || value === 0) continue
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
    known[name] = value
  }
  return known
}
