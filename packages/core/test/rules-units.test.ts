import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BucketQuota, QuotaError } from '../src/index.ts'
import { policiesFrom, type RulePolicy } from '../src/rules/index.ts'
import { rule } from './documents.ts'

const made = (algorithm_config: object, algorithm = 'token_bucket'): RulePolicy =>
  policiesFrom([rule({ algorithm, algorithm_config })])[0] as RulePolicy

/** The last problem of a config that is denied. */
function hint(algorithm_config: object, algorithm?: string): string {
  try {
    made(algorithm_config, algorithm)
  } catch (error) {
    if (error instanceof QuotaError)
      return (error.message.split(' [https:')[0] as string).split('\n  ').at(-1) as string
  }
  return expect.fail('a QuotaError')
}

/** What a hint says to write instead. */
const proposed = (problem: string): object => JSON.parse(/write (\{.*?\})/.exec(problem)?.[1] as string)

test.each([
  [{ rps: 5, burst: 10, fixed_cost: 0.5 }, '1/2: write {"rps":10,"burst":20,"fixed_cost":1}.'],
  [{ rps: 0.25, burst: 2.5 }, '1/2: write {"rps":0.5,"burst":5,"fixed_cost":2}.'],
  [{ rps: 1.5, fixed_cost: 0.1 }, '1/10: write {"rps":15,"burst":20,"fixed_cost":1}.'],
  [{ limit: 2.5, per: '1m' }, '1/2: write {"limit":5,"fixed_cost":2}.'],
  [
    { tokens_per_second: 3, burst: 6, cost_source: 'header:x-weight', default_cost: 0.75, max_cost: 2 },
    '1/4: write {"tokens_per_second":12,"burst":24,"default_cost":3,"max_cost":8}, and count them in "header:x-weight", too.',
  ],
])('%j', (numbers, problem) => {
  expect(hint(numbers)).toBe(`rules[0].algorithm_config: units are whole numbers. Count units of ${problem}`)
  expect(() => made({ ...numbers, ...proposed(hint(numbers)) })).not.toThrow()
})

test('a window is counted in smaller units, too', () =>
  expect(hint({ limit: 1.5, window: '1m' }, 'fixed_window')).toContain('write {"limit":3,"fixed_cost":2}.'))

// It was half as many requests: the units that start a block stayed.
test('a penalty starts after as many smaller units', () =>
  expect(hint({ after: 5, within: '15m', block: '1h', fixed_cost: 0.5 }, 'penalty')).toContain(
    'write {"after":10,"fixed_cost":1}.',
  ))

test('no proposal that is not accepted, or not the same limit', () => {
  // Sums of decimals in binary have 17 digits.
  expect(hint({ rps: 1, fixed_cost: 0.1 + 0.2 })).toContain('Round these numbers to fewer decimals')
  expect(hint({ rps: 1, fixed_cost: 5e-324 })).toContain('Round these numbers to fewer decimals')
  // A leaky bucket lets units out one by one: in another unit its requests wait another time.
  expect(hint({ limit: 1, per: '1s', queue: 0.5 }, 'leaky_bucket')).toMatch(
    /must be a whole number, 0 or more; got 0\.5\.$/,
  )
  expect(hint({ rps: 1, burst: '0.5', fixed_cost: 0.5 })).not.toContain('write')
})

test('a proposal is the same limit, exactly', () => {
  const decimal = fc.integer({ min: 1, max: 1e6 }).map((thousandths) => thousandths / 1e3)
  const numbers = fc.record(
    { rps: decimal, burst: decimal, fixed_cost: decimal, max_cost: decimal },
    { requiredKeys: ['rps'] },
  )
  const thousandths = (value: number): bigint => BigInt(Math.round(value * 1e3))
  let seen = 0
  fc.assert(
    fc.property(numbers, (config) => {
      if ([config.burst, config.fixed_cost, config.max_cost].every((each) => Number.isInteger(each ?? 1))) return
      if ((config.fixed_cost ?? 1) > (config.max_cost ?? Infinity)) return
      seen++
      const { quota, cost = 1, maxCost } = made(proposed(hint(config)))
      const { limit, ticksPerUnit: unit, scale } = quota as BucketQuota
      // Per cost of one request: the burst, the most units of a request, and the units per second, as fractions.
      const was = {
        cost: thousandths(config.fixed_cost ?? 1),
        burst: thousandths(config.burst ?? Math.ceil(config.rps)),
      }
      expect(BigInt(limit) * was.cost).toBe(was.burst * BigInt(cost as number))
      expect(BigInt(1e6) * BigInt(scale) * was.cost).toBe(
        thousandths(config.rps) * BigInt(cost as number) * BigInt(unit),
      )
      if (config.max_cost !== undefined)
        expect(BigInt(maxCost as number) * was.cost).toBe(thousandths(config.max_cost) * BigInt(cost as number))
    }),
    { numRuns: 500 },
  )
  expect(seen).toBeGreaterThan(250)
})
