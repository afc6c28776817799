import { describe, expect, test } from 'vitest'
import {
  type Limit,
  type Report,
  reportsAt,
  SCHEMES,
  type Scheme,
  type Size,
  simulateScheme,
  splitOf,
  tableOf,
  trafficOf,
  unsynchronised,
} from '../src/scale/index.ts'

const reportOf = (name: string, size: Size, limit: Limit): Report =>
  simulateScheme(trafficOf(size), limit, SCHEMES[name] as Scheme)

describe('published numbers', () => {
  test('asynchronous replay admits 2.97 times the limit if three replicas decide before counts arrive', () => {
    expect(unsynchronised(3) / 481_500).toBeGreaterThan(0.9)
    expect(unsynchronised(3) / 481_500).toBeLessThan(1.1)
    // One replica has no others to miss.
    expect(unsynchronised(1)).toBeLessThan(162_000)
  })

  test('an even split of 20 a second over three gateways admits 18', () => {
    expect(splitOf(20, 3)).toBe(18)
    expect(splitOf(21, 3)).toBe(21)
  })

  // The published 5 % come without a load: a tenth around them is between these.
  test('reports every 100 ms are over by more, the higher the demand is', () => {
    expect(reportsAt(1.25)).toBeLessThan(0.045)
    expect(Math.abs(reportsAt(1.4) - 0.05)).toBeLessThan(0.005)
    expect(reportsAt(1.5)).toBeGreaterThan(0.055)
  })
})

describe('a hundred nodes, ten thousand keys', () => {
  const size = { nodes: 100, keys: 10_000, rate: 10_000, seconds: 12, seed: 1 }
  // The most popular key has 20 times its rate of 50 a second.
  const limit = { units: 500, windowMicros: 10_000_000 }

  const ranges: Record<string, { over: [number, number]; under: [number, number]; commands: [number, number] }> = {
    'exact remote': { over: [0, 0], under: [0, 0.01], commands: [1, 1] },
    coalesced: { over: [0, 0], under: [0, 0.01], commands: [0.5, 0.95] },
    'deny cache': { over: [0, 0], under: [0, 0.01], commands: [0.7, 1] },
    leases: { over: [0, 0.01], under: [0, 0.05], commands: [0.5, 1] },
    'shared quota, 1 %': { over: [0, 0], under: [0, 0.05], commands: [0.5, 1] },
    'shared quota, 10 %': { over: [0, 0], under: [0, 0.2], commands: [0.3, 0.9] },
    'local fallback': { over: [5, 100], under: [0, 0], commands: [0, 0] },
    'local fallback, replicas': { over: [0, 0.2], under: [0, 0.2], commands: [0, 0] },
    'even split': { over: [0, 0.2], under: [0, 0.2], commands: [0, 0] },
    'asynchronous replay': { over: [0, 1], under: [0.01, 0.6], commands: [1, 2] },
    'periodic reports': { over: [0.001, 1], under: [0, 0.05], commands: [0.01, 0.2] },
    gossip: { over: [0.1, 3], under: [0, 0.05], commands: [0.2, 0.4] },
  }

  test('every scheme is simulated', () => {
    expect(Object.keys(ranges)).toEqual(Object.keys(SCHEMES))
  })

  test.each(Object.entries(ranges))('%s', (name, { over, under, commands }) => {
    const report = reportOf(name, size, limit)
    const isWithin = (value: number, [least, most]: [number, number]): void => {
      expect(value).toBeGreaterThanOrEqual(least)
      expect(value).toBeLessThanOrEqual(most)
    }
    isWithin(report.over, over)
    isWithin(report.under, under)
    isWithin(report.commands, commands)
    // The same seed gives the same numbers.
    if (name === 'gossip') expect(reportOf(name, size, limit)).toEqual(report)
  })
})

// As eight real processes do: test/shared-quota.test.ts.
test('eight nodes share a quota: nothing over, 2 % under, 0.001 commands per decision', () => {
  const size = { nodes: 8, keys: 1, rate: 100_000, seconds: 4, seed: 1 }
  const { over, under, commands } = reportOf('shared quota, 1 %', size, { units: 60_000, windowMicros: 30_000_000 })
  expect(over).toBe(0)
  expect(under).toBeLessThan(0.02)
  expect(commands).toBeLessThan(0.001)
})

test('a table has a row for each report', () => {
  const report = reportOf(
    'exact remote',
    { nodes: 3, keys: 1, rate: 100, seconds: 1, seed: 1 },
    {
      units: 10,
      windowMicros: 1_000_000,
    },
  )
  expect(tableOf(new Map([['exact', report]])).split('\n')[2]).toMatch(
    /^\| exact \| 0 % \| .* \| 1\.0 \| 80\.0 \| 80\.0 \|/,
  )
})
