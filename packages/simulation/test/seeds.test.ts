import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FAULT_NAMES, POSTGRES_SEEDS, type Scenario, SLOTS_SEEDS, scenarioOf, shrink, simulate } from '../src/index.ts'

const { SIMULATION_FROM = '1', SIMULATION_SEEDS = '30' } = process.env

interface Failed {
  readonly why: string
  readonly scenario: Scenario
}

/** Runs that have broken a property, one a line: as scenarios, because another draw makes another run of a seed. */
const FAILED = readFileSync(fileURLToPath(new URL('failed.jsonl', import.meta.url)), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Failed)

test.each(FAILED)('$scenario.seed: $why', async ({ scenario }) => {
  expect((await simulate(scenario)).problems).toEqual([])
})

test.each([
  { servers: 'Redis', before: 0 },
  { servers: 'PostgreSQL', before: POSTGRES_SEEDS },
  { servers: 'slots', before: SLOTS_SEEDS },
])(
  'the first seeds of $servers break no property',
  async ({ before }) => {
    const first = before + Number(SIMULATION_FROM)
    const count = Number(SIMULATION_SEEDS)
    process.stdout.write(`simulating seeds ${first} to ${first + count - 1}\n`)
    const broken: string[] = []
    for (let seed = first; seed < first + count; seed++) {
      const { problems } = await simulate(scenarioOf(seed))
      if (problems.length > 0) broken.push(`npm run simulate -- --seed ${seed}: ${problems[0]}`)
    }
    expect(broken).toEqual([])
  },
  300_000,
)

test('a seed always gives the same run', async () => {
  for (const seed of [6, POSTGRES_SEEDS + 6, SLOTS_SEEDS + 6]) {
    const [first, second] = [await simulate(scenarioOf(seed)), await simulate(scenarioOf(seed))]
    expect([first.digest, first.trace()]).toEqual([second.digest, second.trace()])
    expect(first.decisions).toBeGreaterThan(seed < SLOTS_SEEDS ? 100 : 10)
  }
})

test('every fault is drawn', () => {
  const seeds = Array.from({ length: 300 }, (_, i) => [i, POSTGRES_SEEDS + i, SLOTS_SEEDS + i]).flat()
  const drawn = new Set(seeds.flatMap((seed) => scenarioOf(seed).faults.map(({ kind }) => kind)))
  expect([...drawn].sort()).toEqual([...FAULT_NAMES].sort())
})

test('a run that breaks nothing shrinks to nothing', async () => {
  const scenario = scenarioOf(2)
  const least = await shrink({ ...scenario, acts: scenario.acts.slice(0, 8), faults: [] })
  expect([least.acts, least.faults]).toEqual([[], []])
})
