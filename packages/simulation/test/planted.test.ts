import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bundle, run } from '../../../scripts/simulation.mjs'
import { PLANTED, scenarioOf, simulate } from '../src/index.ts'

// A property that cannot fail proves nothing: each of these defects breaks one, at its seed.
test.each(PLANTED.map((planted, i) => ({ i, ...planted })))('found: $name', async ({ i, ...planted }) => {
  const { seed, property } = planted
  expect((await simulate(scenarioOf(seed))).problems).toEqual([])
  const report = await run(await bundle(`test-${i}`, planted), ['--from', `${seed}`, '--count', '1'])
  const { failed } = JSON.parse(report) as { failed: readonly { readonly problem: string }[] }
  expect(failed.map(({ problem }) => problem.split(':')[0])).toEqual([property])
})

test('the table of the documentation is the list', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/guides/simulation.md', import.meta.url)), 'utf8')
  const rows = [...page.matchAll(/^\| (.+?) +\| (\d+) +\| `(\w+)` +\|$/gm)].map(([, ...cells]) => cells)
  expect(rows).toEqual(PLANTED.map(({ name, seed, property }) => [name, `${seed}`, property]))
})
