import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { charts, performancePage } from '../bench/pages.ts'
import { quoted } from '../bench/quoted.ts'
import { unexplained } from '../bench/reasons.ts'
import { readResults } from '../bench/results.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const results = readResults()

test('docs/performance.md says what was measured', () => {
  expect(read('docs/performance.md')).toBe(performancePage(results))
})

test.each(Object.entries(charts(results)))('%s draws what was measured', (name, chart) => {
  expect(read(`docs/${name}`)).toBe(chart)
})

test('the README quotes what was measured', () => {
  expect(read('README.md')).toContain(`<!-- bench -->\n${quoted(results)}\n<!-- /bench -->`)
})

test('no measured part is left out of the page', () => {
  const page = read('docs/performance.md')
  const titles = Object.values(results).flatMap(({ tables }) => tables.map(({ title }) => title))
  expect(titles.filter((title) => !page.includes(`### ${title}\n`))).toEqual([])
})

test('every missed target has a reason', () => {
  expect(unexplained(results)).toEqual([])
})
