import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bundle, run } from '../../../scripts/simulation.mjs'
import { PLANTED, scenarioOf, simulate } from '../src/index.ts'

const packages = fileURLToPath(new URL('../../', import.meta.url))

const { SIMULATION_PLANTED = 'some' } = process.env

/** The first defect of each property, or all: CI finds all beside `npm test`. */
const RUN = PLANTED.filter(
  ({ property }, i) => SIMULATION_PLANTED === 'all' || PLANTED.findIndex((each) => each.property === property) === i,
)

// A property that cannot fail proves nothing: each of these defects breaks one, at its seed.
test.each(RUN.map((planted, i) => ({ i, ...planted })))('found: $name', async ({ i, ...planted }) => {
  const { seed, property } = planted
  expect((await simulate(scenarioOf(seed))).problems).toEqual([])
  const report = await run(await bundle(`test-${i}`, planted), ['--from', `${seed}`, '--count', '1'])
  const { failed } = JSON.parse(report) as { failed: readonly { readonly problem: string }[] }
  expect(failed.map(({ problem }) => problem.split(':')[0])).toEqual([property])
})

// Reproduces a defect of this list: a text had come to stand twice in its file, and was replaced where it broke nothing.
test('the text of each defect is in its file once', () => {
  const wrong = PLANTED.flatMap(({ name, file, replaced }) =>
    replaced
      .filter(([text, , of = file]) => readFileSync(join(packages, of), 'utf8').split(text).length !== 2)
      .map(() => name),
  )
  expect(wrong).toEqual([])
})

test('the table of the documentation is the list', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/guides/simulation.md', import.meta.url)), 'utf8')
  const rows = [...page.matchAll(/^\| (.+?) +\| (\d+) +\| `(\w+)` +\|$/gm)].map(([, ...cells]) => cells)
  expect(rows).toEqual(PLANTED.map(({ name, seed, property }) => [name, `${seed}`, property]))
})
