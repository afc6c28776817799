import { expect, test } from 'vitest'
import { resultsPage } from '../bench/pages.ts'
import { parts } from '../bench/parts.ts'
import { plansTable } from '../bench/plans.ts'

test('the bench of cached plans looks up 1 % of the requests, and none if all keys are known', async () => {
  const size = { requests: 30_000, known: 1_000, every: 100 }
  const table = await plansTable(size, { seconds: 0.01, progress: () => {}, chunk: 1_000 })
  expect(table.rows.map(({ name }) => name)).toEqual([
    'a Map of all plans, hand-written',
    'cached, all known',
    'cached, 1 % looked up',
  ])
  const shares = table.rows.map(({ figures }) => figures[2]?.median as number)
  expect(shares.slice(0, 2)).toEqual([0, 0])
  expect(shares[2]).toBeGreaterThan(0.9)
  expect(shares[2]).toBeLessThan(1.2)
  for (const { figures } of table.rows) expect(figures[0]?.median).toBeGreaterThan(0)
})

test('its results are on the page of the performance', async () => {
  expect(Object.keys((await parts['plans']?.())?.cases ?? {})).toEqual(['cached'])
  const row = { name: 'cached, 1 % looked up', figures: [{ median: 0.4, low: 0.3, high: 0.5 }] }
  const table = {
    case: 'cached',
    title: 'The plan',
    how: 'How.',
    columns: ['µs added to a request'],
    rows: [row],
    targets: [],
  }
  const page = resultsPage({ plans: { day: '2026-01-01', machine: 'a machine', tables: [table] } })
  expect(page).toMatch(/## Plans from a database[\s\S]*### The plan\n[\s\S]*cached, 1 % looked up/)
})
