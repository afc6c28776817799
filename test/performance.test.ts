import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { charts, pages } from '../bench/pages.ts'
import { answers } from '../bench/questions.ts'
import { quoted } from '../bench/quoted.ts'
import { unexplained } from '../bench/reasons.ts'
import { readResults } from '../bench/results.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const results = readResults()

test.each(Object.entries(pages(results)))('%s says what was measured', (path, page) => {
  expect(read(path)).toBe(page)
})

test.each(Object.entries(charts(results)))('%s draws what was measured', (name, chart) => {
  expect(read(`docs/${name}`)).toBe(chart)
})

test('the comparison quotes what was measured', () => {
  expect(read('docs/comparison.md')).toContain(`<!-- bench -->\n${quoted(results)}\n<!-- /bench -->`)
})

test('no measured part is left out of the results', () => {
  const page = read('bench/RESULTS.md')
  const titles = Object.values(results).flatMap(({ tables }) => tables.map(({ title }) => title))
  expect(titles.filter((title) => !page.includes(`### ${title}\n`))).toEqual([])
})

test('the page has four numbers, what one notices, three charts, and where others are faster, in 1,200 words', () => {
  const page = read('docs/performance.md')
  const [first = '', notice = '', behind = ''] = page.split('\n## ')
  expect(first.match(/^\| [a-z].*\d/gm)).toHaveLength(4)
  expect(notice).toMatch(/^Will I notice it\?/)
  expect(notice.match(/!\[[^\]]+\]\(\.\/performance-/g)).toHaveLength(3)
  expect(behind).toMatch(/^Where others are faster/)
  expect(behind.match(/^\| .*\d/gm)?.length).toBeGreaterThan(3)
  expect(page.split(/\s+/).length).toBeLessThan(1_200)
})

test('every missed target has a reason', () => {
  expect(unexplained(results)).toEqual([])
})

test('a question is answered by bars of Spillway and of others, with a unit, and logarithms only over decades', () => {
  const drawn = Object.values(answers(results))
  expect(drawn.length).toBeGreaterThan(5)
  for (const chart of drawn) {
    expect(chart).toMatch(/>(nano|micro|milli)seconds|>bytes/)
    expect(new Set(chart.match(/rx="2" fill="#\w+"/g)).size).toBe(2)
    const medians = [...chart.matchAll(/: ([\d.,]+)(?=;|<)/g)].map(([, value = '']) =>
      Number(value.replaceAll(',', '')),
    )
    expect(medians.length).toBe(chart.match(/rx="2"/g)?.length)
    expect(chart.includes(', logarithmic')).toBe(Math.max(...medians) / Math.min(...medians) >= 10)
  }
})

/** How light a colour is, from 0 to 1, by WCAG. */
function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** The left and the right end of each text, with the widest letters that are likely. */
function textsIn(chart: string): readonly { readonly words: string; readonly ends: readonly [number, number] }[] {
  const texts = chart.matchAll(/<text x="([\d.]+)" y="[\d.]+" text-anchor="(\w+)"[^>]*>([^<]*)</g)
  return [...texts].map(([, x = '', anchor = '', words = '']) => {
    const width = words.replace(/&#\d+;/g, '-').length * 6.8
    const left = Number(x) - { start: 0, middle: width / 2, end: width }[anchor as 'start']
    return { words, ends: [left, left + width] }
  })
}

describe.each(Object.entries(charts(results)))('%s', (_, chart) => {
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(chart) ?? []

  test('has no clipped text, and its colours have enough contrast', () => {
    const texts = textsIn(chart)
    expect(texts.length).toBeGreaterThan(8)
    expect(texts.filter(({ ends: [left, right] }) => left < 0 || right > Number(width))).toEqual([])
    expect(chart).toContain(`<rect width="${width}" height="${height}" rx="8" fill="#ffffff"/>`)
    const fills = new Set([...chart.matchAll(/<text[^>]* fill="(#\w+)"/g)].map(([, color = '']) => color))
    fills.delete('#ffffff') // In a bar.
    for (const color of fills) expect([color, 1.05 / (luminance(color) + 0.05) >= 4.5]).toEqual([color, true])
  })
})

const isLines = ([name]: readonly [string, string]): boolean => name !== 'rivals.svg' && !(name in answers(results))

test.each(Object.entries(charts(results)).filter(isLines))(
  '%s has titles of its axes with units, logarithms where values span decades, and bands',
  (name, chart) => {
    const table = results['scale']?.tables.find(({ title }) => name.includes(title.split(' ').at(-1) as string))
    const medians = table?.rows.flatMap(({ figures }) => figures.map((figure) => figure?.median ?? 1)) ?? []
    const spansDecades = Math.max(...medians) / Math.min(...medians) >= 10
    expect(chart).toMatch(/>(nano|micro)seconds a decision/)
    expect(chart.includes('seconds a decision, logarithmic')).toBe(spansDecades)
    expect(chart).toContain('>number of ')
    expect(chart.match(/<polygon/g)).toHaveLength(table?.columns.length ?? 0)
  },
)
