import { parseArgs } from 'node:util'
import { PLANTED, realNow, scenarioOf, shrink, simulate } from './index.ts'

// One worker of `npm run simulate`: simulates seeds for a time, or one seed with its trace.

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    least: { type: 'boolean', default: false },
    from: { type: 'string', default: '1' },
    step: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    count: { type: 'string', default: '1000000000' },
    defects: { type: 'boolean', default: false },
    'stop-at-first': { type: 'boolean', default: false },
  },
})

/** Shows what a seed breaks, with as few acts and faults as do. */
async function replay(seed: number): Promise<void> {
  const scenario = scenarioOf(seed)
  const { problems, digest } = await simulate(scenario)
  if (problems.length === 0) return console.log(`seed ${seed}: all properties hold (digest ${digest})`)
  const least = await shrink(scenario)
  if (values.least) return console.log(JSON.stringify(least))
  const report = await simulate(least)
  console.log(report.trace().join('\n'))
  console.log(`\nseed ${seed}, shrunk to ${least.acts.length} acts and ${least.faults.length} faults:`)
  console.log(report.problems.join('\n'))
  process.exitCode = 1
}

/** Simulates seeds, and prints one line of JSON: what they did. */
async function run(): Promise<void> {
  // Nothing shows the stacks of errors here, and the simulation makes many.
  Error.stackTraceLimit = 0
  const [from, step, seconds, count] = [values.from, values.step, values.seconds, values.count].map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const startMs = realNow()
  const failed: { seed: number; problem: string }[] = []
  let [seeds, decisions, micros] = [0, 0, 0]
  while (seeds < count && realNow() - startMs < seconds * 1000) {
    const seed = from + seeds * step
    const report = await simulate(scenarioOf(seed))
    seeds++
    decisions += report.decisions
    micros += report.micros
    const [problem] = report.problems
    if (problem !== undefined) failed.push({ seed, problem })
    if (problem !== undefined && values['stop-at-first']) break
  }
  const { user, system } = process.cpuUsage()
  console.log(JSON.stringify({ seeds, decisions, micros, cpuSeconds: (user + system) / 1e6, failed }))
}

if (values.defects) console.log(JSON.stringify(PLANTED))
else await (values.seed === undefined ? run() : replay(Number(values.seed)))
