import { describe, expect, test } from 'vitest'
import type { Answer, Run } from '../playground/app.ts'
import type { Scene } from '../playground/lane-kind.ts'
import { demandOf, laneKinds } from '../playground/lanes.ts'
import { type Choices, DEFAULTS } from '../playground/link.ts'
import { levelAt, summaryOf } from '../playground/summary.ts'
import { type Pattern, type Traffic, trafficOf } from '../playground/traffic.ts'

// What the playground shows of several policies, processes and failures is decided by the library, on the run's clock.

const WINDOW = 10_000_000

/** The runs of a scene, by the lane's id. */
async function runsOf(scene: Scene, more: Partial<Choices> = {}): Promise<Readonly<Record<string, Run>>> {
  const choices = { ...DEFAULTS, scene, pattern: 'steady' as const, load: 2, ...more }
  const traffic = trafficOf(demandOf(choices))
  const runs = await Promise.all(
    laneKinds(choices).map(async ({ id, run }): Promise<[string, Run]> => [id, await run(traffic)]),
  )
  return Object.fromEntries(runs)
}

const allowed = ({ answers }: Run): readonly Answer[] => answers.filter(({ decision }) => decision.allowed)
const most = (run: Run, window: number = WINDOW): number => summaryOf(run, window).most

test('both policies hold together, and a denied request consumes nothing of either', async () => {
  const { first, second, both } = (await runsOf('policies', { load: 4, limit2: 2 })) as Record<string, Run>
  for (const run of [first, second, both] as Run[]) expect(run.answers).toHaveLength(120)
  expect(most(second as Run, 1_000_000)).toBeGreaterThan(2)
  expect(allowed(both as Run).length).toBeLessThanOrEqual(
    Math.min(allowed(first as Run).length, allowed(second as Run).length),
  )
  // The first policy alone admits 10 at once and 1 a second: 40 in 30 s, less the unit that is still refilling.
  expect([allowed(first as Run).length, allowed(both as Run).length]).toEqual([39, 39])
  expect((both as Run).lines.map(({ top }) => top)).toEqual([10, 2])
})

test('two processes with a store each allow twice as much; with one store, as much as one process', async () => {
  const { one, apart, shared } = (await runsOf('processes', { load: 4 })) as Record<string, Run>
  expect(allowed(apart as Run).length).toBe(2 * allowed(one as Run).length)
  expect(shared?.answers.map(({ status, headers }) => [status, headers])).toEqual(
    one?.answers.map(({ status, headers }) => [status, headers]),
  )
  expect((apart as Run).lines).toHaveLength(2)
})

describe('a store that fails in the middle of the run', () => {
  test('has its failure mode then, and counts again afterwards', async () => {
    const runs = await runsOf('failing')
    const during = (run: Run): readonly Answer[] =>
      run.answers.filter(({ arrival: { at } }) => at >= 10_000_000 && at < 20_000_000)
    const before = (run: Run): readonly number[] =>
      run.answers.filter(({ arrival: { at } }) => at < 10_000_000).map(({ status }) => status)
    const statuses = (run: Run): readonly number[] => [...new Set(during(run).map(({ status }) => status))].sort()
    const { local, allow, deny, throw: thrown } = runs as Record<string, Run>
    expect([allow, deny, thrown].map((run) => statuses(run as Run))).toEqual([[200], [503], [500]])
    // The same quota in the process: 10 at once, and 1 a second until the last request, after 9.5 s.
    expect(statuses(local as Run)).toEqual([200, 429])
    expect(during(local as Run).filter(({ status }) => status === 200)).toHaveLength(19)
    expect(during(local as Run)[0]?.decision.degraded).toEqual({ reason: 'error', action: 'local' })
    for (const run of Object.values(runs)) {
      expect(before(run)).toEqual(before(local as Run))
      expect(run.outage).toEqual({ from: 10_000_000, to: 20_000_000 })
      // At the end, the circuit is closed: requests are counted by the store, or denied by it.
      expect(run.answers.at(-1)?.decision.degraded).toBeUndefined()
      expect([200, 429]).toContain(run.answers.at(-1)?.status)
    }
  })

  test('leaves the clocks as they were, also if several runs are begun at once', async () => {
    const [dateNow, now] = [Date.now, performance.now]
    const [a, b] = await Promise.all([runsOf('failing'), runsOf('failing')])
    expect([Date.now, performance.now]).toEqual([dateNow, now])
    const statuses = ({ answers }: Run): readonly number[] => answers.map(({ status }) => status)
    expect(Object.values(a).map(statuses)).toEqual(Object.values(b).map(statuses))
  })
})

describe('slots in flight', () => {
  interface Held {
    readonly from: number
    readonly to: number
    readonly cost: number
  }

  /** When each allowed request of a client held its slots, in microseconds. */
  const heldIn = ({ answers }: Run, client = 'you'): readonly Held[] =>
    answers.flatMap(({ arrival, decision, note = '' }) => {
      const [, amount, unit] = /takes ([\d.]+) (ms|s|min)$/.exec(note) ?? []
      if (!decision.allowed || arrival.client !== client) return []
      // The text has three digits.
      const taken = Number(amount) * ({ ms: 1e3, s: 1e6, min: 60e6 }[unit as string] as number) * 0.99
      const from = arrival.at + decision.delayMs * 1000
      return { from, to: from + taken, cost: arrival.cost }
    })
  const mostAtOnce = (held: readonly Held[]): number =>
    Math.max(
      ...held.map(({ from }) =>
        held.reduce((sum, each) => (each.from <= from && from < each.to ? sum + each.cost : sum), 0),
      ),
    )

  test.each<readonly [Pattern, number, number]>([
    ['steady', 2, 4],
    ['bursts', 2, 1.5],
    ['weighted', 2, 3],
    ['attack', 0.05, 2],
    // Longer than slots live without being renewed: their timers are those of the run.
    ['bursts', 60, 3],
  ])('are never more than the limit, and all are used: %s, %d s each', async (pattern, takes, load) => {
    const { deny, wait } = (await runsOf('slots', { pattern, takes, load, limit: 5 })) as Record<string, Run>
    for (const run of [deny, wait] as Run[]) {
      expect(mostAtOnce(heldIn(run))).toBeGreaterThanOrEqual(4)
      expect(mostAtOnce(heldIn(run))).toBeLessThanOrEqual(5)
      expect(Math.max(...run.lines[0].points.map(({ units }) => units))).toBe(5)
      expect(run.answers.every(({ status }) => status === 200 || status === 429)).toBe(true)
    }
    expect(allowed(wait as Run).length).toBeGreaterThanOrEqual(allowed(deny as Run).length)
    const waits = (wait as Run).answers.map(({ decision }) => decision.delayMs)
    expect(Math.max(...waits)).toBeGreaterThan(0)
    expect(Math.max(...waits)).toBeLessThan(takes * 1000 + 2)
    // Those who wait are counted while they do.
    const [late] = (wait as Run).answers.filter(
      ({ arrival, decision }) => arrival.client === 'you' && decision.delayMs > 100 * takes,
    )
    if (late) expect(levelAt((wait as Run).lines[1] as Run['lines'][0], late.arrival.at)).toBeGreaterThan(0)
  })

  test('leave no timer and no clock behind, and are the same each time', async () => {
    const before = [Date.now, performance.now, setTimeout, clearTimeout]
    const [a, b] = await Promise.all([runsOf('slots'), runsOf('slots')])
    expect([Date.now, performance.now, setTimeout, clearTimeout]).toEqual(before)
    const told = (runs: Readonly<Record<string, Run>>): unknown =>
      Object.values(runs).map(({ answers }) => answers.map(({ status, note }) => `${status} ${note}`))
    expect(told(a)).toEqual(told(b))
  })
})

describe('adaptive shedding', () => {
  const traffic = (load: number): Traffic =>
    trafficOf(demandOf({ ...DEFAULTS, scene: 'shedding', pattern: 'steady', load }))
  const served = ({ answers }: Run, from: number, to: number): number =>
    answers.filter(({ arrival: { at }, status }) => status === 200 && at >= from * 1e6 && at < to * 1e6).length

  test('serves what the service can, before, while and after it slows down; a limit that is too high serves no client', async () => {
    for (const load of [1.5, 3]) {
      const { adaptive, fixed } = (await runsOf('shedding', { load })) as Record<string, Run>
      for (const run of [adaptive, fixed] as Run[]) {
        expect(run.answers).toHaveLength(traffic(load).arrivals.length)
        expect(new Set(run.answers.map(({ status }) => status)).size).toBeGreaterThan(1)
      }
      // 100 a second, and 50 a second from 8 to 16 s.
      expect(served(adaptive as Run, 1, 8)).toBeGreaterThan(0.85 * 700)
      expect(served(adaptive as Run, 8, 16)).toBeGreaterThan(0.8 * 400)
      expect(served(adaptive as Run, 16, 24)).toBeGreaterThan(0.85 * 800)
      expect(served(fixed as Run, 8, 24)).toBeLessThan(20)
    }
  })

  test('drops nothing before it slows down, if less is offered than it can serve', async () => {
    const { adaptive } = (await runsOf('shedding', { load: 0.8 })) as Record<string, Run>
    expect(served(adaptive as Run, 0, 8)).toBe(640)
  })

  test('says why each request was dropped, as the adapter answers it', async () => {
    const { adaptive } = (await runsOf('shedding', { load: 3 })) as Record<string, Run>
    const drops = (adaptive as Run).answers.filter(({ status }) => status === 503)
    expect(drops.length).toBeGreaterThan(1_000)
    for (const { denial, headers, note, decision } of drops) {
      expect(note).toMatch(/^dropped: (time-out|queue-full)$/)
      expect(denial?.body).toContain('temporary-reduced-capacity')
      expect(headers).toEqual([['retry-after', `${Math.ceil(decision.retryAfterMs / 1000)}`]])
    }
    const { Reasons = '' } = (adaptive as Run).facts ?? {}
    const counted = [...Reasons.matchAll(/(\d+)/g)].reduce((sum, [number]) => sum + Number(number), 0)
    expect(counted).toBe((adaptive as Run).answers.filter(({ status }) => status !== 200).length)
  })

  test('is the same each time', async () => {
    const told = ({ answers, lines, facts }: Run): unknown => [
      answers.map(({ status, note }) => `${status} ${note}`),
      lines,
      facts,
    ]
    const [a, b] = [await runsOf('shedding'), await runsOf('shedding')]
    expect(Object.values(a).map(told)).toEqual(Object.values(b).map(told))
  })
})
