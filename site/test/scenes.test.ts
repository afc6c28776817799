import { describe, expect, test } from 'vitest'
import type { Answer, Run } from '../playground/app.ts'
import type { Scene } from '../playground/lane-kind.ts'
import { laneKinds } from '../playground/lanes.ts'
import { type Choices, DEFAULTS } from '../playground/link.ts'
import { summaryOf } from '../playground/summary.ts'
import { trafficOf } from '../playground/traffic.ts'

// What the playground shows of several policies, processes and failures is decided by the library, on the run's clock.

const WINDOW = 10_000_000

/** The runs of a scene, by the lane's id. */
async function runsOf(scene: Scene, more: Partial<Choices> = {}): Promise<Readonly<Record<string, Run>>> {
  const choices = { ...DEFAULTS, scene, pattern: 'steady' as const, load: 2, ...more }
  const traffic = trafficOf({ pattern: choices.pattern, limit: choices.limit, load: choices.load, window: WINDOW })
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
  expect((both as Run).lines.map(({ quota }) => quota.limit)).toEqual([10, 2])
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
