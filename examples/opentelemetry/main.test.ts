import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { faultyStore } from '@spillway/conformance'
import { leakyBucket, memoryStore, perMinute, rateLimit } from '@spillway/express'
import express, { type Express } from 'express'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { parse } from 'yaml'
import { app, measure } from './main.ts'

const servers: Server[] = []
let url: string

async function listen(app: Express): Promise<string> {
  const server = await new Promise<Server>((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  servers.push(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** What Prometheus would read: each sample's value by its name and labels. */
async function scrape(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

beforeAll(async () => {
  url = await listen(app)
})

afterAll(() => {
  for (const server of servers) server.close()
})

test('decisions can be scraped', async () => {
  // The requests are of one moment, however slowly they arrive.
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const statuses = await Promise.all(Array.from({ length: 15 }, async () => (await fetch(url)).status))
  const denied = statuses.filter((status) => status === 429).length
  expect(denied).toBe(5)
  const samples = await scrape()
  const sampleOf = (name: string, labels: string): number | undefined => samples.get(`${name}{${labels}}`)
  expect(sampleOf('spillway_requests_total', 'spillway_outcome="denied"')).toBe(denied)
  expect(sampleOf('spillway_requests_total', 'spillway_outcome="allowed"')).toBe(15 - denied)
  const shadow = 'spillway_policy="next-hour (shadow)",spillway_mode="shadow",spillway_outcome="denied"'
  expect(sampleOf('spillway_decisions_total', shadow)).toBe(13)
  expect(sampleOf('spillway_remaining_count', 'spillway_policy="hour"')).toBe(15)
  expect(sampleOf('spillway_store_keys', 'spillway_store="memory"')).toBe(3)
})

test('every metric of the dashboard and the alerts can be scraped', async () => {
  // A remote store that answers once and then fails, and a queue in which a second request waits 20 ms of real time. The
  // queue's clock stands still: the requests are of one moment, however slowly they arrive.
  const faulty = faultyStore(memoryStore())
  const queue = leakyBucket({ limit: 50, per: '1s', queue: 9 })
  const store = memoryStore({ clock: () => 1e15 })
  const other = await listen(
    express()
      .use('/queue', rateLimit({ name: 'queue', quota: queue, store }))
      .use(rateLimit({ name: 'other', quota: perMinute(10), store: measure.store(faulty, 'redis') })),
  )
  await fetch(other)
  faulty.break('failing')
  await fetch(other)
  await Promise.all([fetch(`${other}/queue`), fetch(`${other}/queue`)])

  const samples = [...(await scrape()).keys()]
  const names = new Set(samples.map((sample) => sample.replace(/\{.*/, '')))
  const labels = new Set(samples.flatMap((sample) => [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label)))
  const asked = expressions()
  expect(asked.length).toBeGreaterThan(15)
  for (const expression of asked) {
    const ungrouped = expression.replace(/\bby \([^)]*\)/g, '')
    for (const [name] of ungrouped.matchAll(/\bspillway_\w+(?=[{[)])/g)) expect(names).toContain(name)
    const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
    const matched = [...expression.matchAll(/(\w+)(?:=|!=|=~)"/g)].map(([, label]) => label)
    // `job` is Prometheus' label for the scraped app.
    for (const label of [...grouped, ...matched]) expect([...labels, 'job']).toContain(label)
  }
})

// Reproduces: the file was no valid YAML.
test('each of the four alert rules has a name, an expression and texts', () => {
  expect(alerts().map(({ alert }) => alert)).toEqual([
    'SpillwayWithoutStore',
    'SpillwayStoreSlow',
    'SpillwayManyDenied',
    'SpillwayEvictsKeys',
  ])
  for (const { expr, annotations } of alerts()) {
    expect([expr, annotations.summary, annotations.description]).toEqual(Array(3).fill(expect.stringMatching(/./)))
  }
})

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly description: string }
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const alerts = (): readonly Alert[] =>
  (parse(read('alerts.yaml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules)

function expressions(): readonly string[] {
  const { panels } = JSON.parse(read('dashboard.json')) as { panels: { targets?: { expr: string }[] }[] }
  return [...panels.flatMap(({ targets = [] }) => targets), ...alerts()].map(({ expr }) => expr)
}
