// Simulates the packages over simulated clocks, networks and servers: `npm run simulate`. See docs/guides/simulation.md.

import { appendFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './install.mjs'
import { bundle, run } from './simulation.mjs'

const USAGE = `npm run simulate -- [options]

  --seconds 60   how long to simulate fresh seeds, on all processors
  --seed 123     replays a seed, and shows its trace with as few acts and faults as break the same property
                 (--keep 'why it failed' adds these to the runs that npm test repeats)
  --planted      (--only text) puts known defects back, one at a time, and shows which seed finds each
  scale          compares ways to share a limit between nodes: --nodes, --keys, --rate, --seconds, --limit, --window,
                 --only`

/** The first seeds of each kind of runs, as in packages/simulation/src/draw.ts: with Redis, with PostgreSQL, and with slots. */
const FIRST_SEEDS = [0, 2 ** 31, 3 * 2 ** 30]

/** @param {string} seconds */
async function fresh(seconds) {
  const file = await bundle('main')
  const workers = Math.max(availableParallelism(), FIRST_SEEDS.length)
  const from = Math.floor(Math.random() * 2 ** 29)
  // Each kind of runs has workers of its own.
  const firstOf = (/** @type {number} */ i) => from + i + /** @type {number} */ (FIRST_SEEDS[i % FIRST_SEEDS.length])
  const each = (/** @type {number} */ i) => ['--from', `${firstOf(i)}`, '--step', `${workers}`, '--seconds', seconds]
  const startMs = performance.now()
  const reports = (await Promise.all(Array.from({ length: workers }, (_, i) => run(file, each(i))))).map((text) =>
    JSON.parse(text),
  )
  const hours = (performance.now() - startMs) / 3_600_000
  const sum = (/** @type {string} */ name) => reports.reduce((total, report) => total + report[name], 0)
  const failed = reports.flatMap((report) => report.failed)
  const perHour = ((sum('decisions') / hours) * 1e-6).toFixed(1)
  const perCpuHour = ((sum('decisions') / sum('cpuSeconds')) * 3600e-6).toFixed(1)
  const times = (sum('micros') / (hours * 3600e6)).toFixed(0)
  const perCpu = (sum('micros') / (sum('cpuSeconds') * 1e6)).toFixed(0)
  console.log(
    `${sum('seeds')} seeds from ${FIRST_SEEDS.map((_, i) => firstOf(i)).join(', ')}: ${sum('decisions')} decisions, ${failed.length} seeds failed`,
  )
  console.log(`${perHour} million decisions an hour, ${times} × real time on ${workers} processors`)
  console.log(`${perCpuHour} million decisions and ${perCpu} × real time per hour of CPU time`)
  for (const { seed, problem } of failed) console.log(`\n${problem}\n  npm run simulate -- --seed ${seed}`)
  process.exitCode = failed.length > 0 ? 1 : 0
}

async function planted(/** @type {string} */ seconds, /** @type {string} */ only) {
  /** @type {import('../packages/simulation/src/defect.ts').Planted[]} */
  const defects = JSON.parse(await run(await bundle('main'), ['--defects']))
  console.log('| defect | seed | property |\n| --- | --- | --- |')
  for (const [i, defect] of defects.entries()) {
    if (!defect.name.includes(only)) continue
    const file = await bundle(`planted-${i}`, defect)
    const from = 1 + Math.max(...FIRST_SEEDS.filter((first) => first <= defect.seed))
    const some = ['--from', `${from}`, '--count', '2000', '--stop-at-first', '--seconds', seconds]
    const { failed } = JSON.parse(await run(file, some))
    const [{ seed, problem } = { seed: undefined, problem: 'not found' }] = failed
    console.log(`| ${defect.name} | ${seed} | \`${problem.split(':')[0]}\` |`)
    if (seed === undefined) process.exitCode = 1
  }
}

async function keep(/** @type {string} */ seed, /** @type {string} */ why) {
  const scenario = await run(await bundle('main'), ['--seed', seed, '--least'])
  if (!scenario.startsWith('{')) throw new Error(`seed ${seed} breaks no property`)
  const row = { why, scenario: JSON.parse(scenario) }
  appendFileSync(join(root, 'packages/simulation/test/failed.jsonl'), `${JSON.stringify(row)}\n`)
}

/** The arguments are those of `scale/main.ts`. @param {string[]} given */
async function scale(given) {
  process.stdout.write(await run(await bundle('scale', undefined, 'scale/main.ts'), given))
}

const OPTIONS = /** @type {const} */ ({
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string' },
  keep: { type: 'string' },
  planted: { type: 'boolean', default: false },
  only: { type: 'string', default: '' },
  help: { type: 'boolean', default: false },
})

function valuesIn(/** @type {string[]} */ args) {
  try {
    return parseArgs({ args, options: OPTIONS }).values
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

const [command, ...rest] = process.argv.slice(2)
const values = valuesIn(command === 'scale' ? [] : process.argv.slice(2))
if (values.help) console.log(USAGE)
else if (command === 'scale') await scale(rest)
else if (values.seed !== undefined && values.keep !== undefined) await keep(values.seed, values.keep)
else if (values.seed !== undefined) process.stdout.write(await run(await bundle('main'), ['--seed', values.seed]))
else if (values.planted) await planted(values.seconds, values.only)
else await fresh(values.seconds)
