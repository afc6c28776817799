// Compares the sources here with a release or a commit: speed, bundle sizes, and the cost of checking types. Fails if
// a case has become slower by more than a twentieth.
//
//     npm run speed                         against the last release
//     npm run speed -- --base origin/main   against a commit
//     npm run speed -- --check              plants slow-downs, which must be found, and compares twenty times with itself

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, figureOf, markdownTable, reported } from '../table.ts'
import { cases } from './cases.ts'
import { bundleCases, compare } from './compare.ts'
import { checkout, lastRelease, root } from './revision.ts'
import { sizesOf } from './sizes.ts'
import { typeCostOf } from './types.ts'

/** The most that a case may take, as a multiple of the time in the base. */
const MOST = 1.05

/** The share by which planted slow-downs slow a case down. */
const PLANTED = 0.07

const { values } = parseArgs({ options: { base: { type: 'string' }, check: { type: 'boolean', default: false } } })
const folder = mkdtempSync(join(tmpdir(), 'spillway-speed-'))
try {
  process.exitCode = (values.check ? await checkSpeedCheck() : await compareWith(values.base ?? lastRelease())) ? 0 : 1
} finally {
  rmSync(folder, { recursive: true })
}

async function compareWith(base: string | undefined): Promise<boolean> {
  if (base === undefined) throw new RangeError('There is no release yet. Name a commit: npm run speed -- --base main')
  const sources = checkout(base, join(folder, 'base'))
  const bundles = [await bundleCases(sources, folder, 'base'), await bundleCases(root, folder, 'head')] as const
  const rows: string[][] = []
  const slower: string[] = []
  for (const name of Object.keys(cases)) {
    const { median, low, high } = await timeOf(bundles, name)
    rows.push([name, median.toFixed(3), `${low.toFixed(3)} – ${high.toFixed(3)}`])
    console.error(`${name}: ${median.toFixed(3)}`)
    if (median > MOST) slower.push(name)
  }
  report([`## Time, as a multiple of ${base}`, '', markdownTable(['case', 'median', 'middle half'], rows)])
  report([
    '## Bundle size per export of an adapter, in bytes, gzipped',
    '',
    changes(await sizesOf(sources), await sizesOf(root)),
  ])
  const [before, after] = [typeCostOf(sources), typeCostOf(root)].map((each) => new Map(Object.entries(each)))
  report(['## Cost of checking the types of core', '', changes(before ?? new Map(), after ?? new Map())])
  if (slower.length > 0) report([`Slower than ${MOST} times ${base}: ${slower.join(', ')}.`])
  return slower.length === 0
}

/** The time of a case in the second bundle. If it seems slower, perhaps by chance, it is measured again, for longer. */
async function timeOf(bundles: readonly [string, string], name: string, slowdown = 0): Promise<Figure> {
  const figure = await compare(...bundles, name, { slowdown })
  return figure.median > MOST ? compare(...bundles, name, { slowdown, pairs: 15 }) : figure
}

/** A table of what has changed. */
function changes(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string {
  const number = (value: number | undefined): string => value?.toLocaleString('en') ?? '–'
  const rows = [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => [name, number(before.get(name)), number(after.get(name))])
  return rows.length === 0 ? 'No change.' : markdownTable(['', 'before', 'after'], rows)
}

/** Prints a part of the report, and adds it to the summary of a workflow's job. */
function report(lines: readonly string[]): void {
  const text = `${lines.join('\n')}\n\n`
  process.stdout.write(text)
  const { GITHUB_STEP_SUMMARY: summary } = process.env
  if (summary) appendFileSync(summary, text)
}

/** Whether the check finds each of three planted slow-downs, and nothing in twenty comparisons of equal revisions. */
async function checkSpeedCheck(): Promise<boolean> {
  const bundles = [await bundleCases(root, folder, 'one'), await bundleCases(root, folder, 'other')] as const
  const names = Object.keys(cases)
  const found: boolean[] = []
  for (const name of ['one hot key', '10,000 keys', 'a fixed window']) {
    const { median } = await timeOf(bundles, name, PLANTED)
    found.push(median > MOST)
    console.log(
      `${name}, slowed down by ${(PLANTED * 100).toFixed()} %: ${median.toFixed(3)} ${median > MOST ? 'found' : 'NOT FOUND'}`,
    )
  }
  const ratios: number[] = []
  for (let i = 0; i < 20; i++) {
    const name = names[i % names.length] as string
    const { median } = await timeOf(bundles, name)
    ratios.push(median)
    console.log(`${name}, equal: ${median.toFixed(3)} ${median > MOST ? 'FAILED' : 'passed'}`)
  }
  const { low, high } = figureOf(ratios)
  console.log(`20 equal revisions: ${reported(low)} – ${reported(high)}, ${Math.max(...ratios).toFixed(3)} at most`)
  return found.every(Boolean) && ratios.every((ratio) => ratio <= MOST)
}
