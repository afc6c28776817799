import { perHour, rateLimiter } from '@spillway/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { until } from '../services/redis-cluster.ts'
import { actions, LIMIT, type Served, serveAll } from './apps.ts'
import { type Fault, faults, type Subject, subjects, type Trouble } from './servers.ts'

// Servers that really fail, under load through every adapter, with each of the things an app may want done then. It takes
// real time, as servers do. `FAULT_SECONDS=30` makes each fault last as long.

const lastsMs = Number(process.env['FAULT_SECONDS'] ?? 0.5) * 1_000
const table: string[] = [
  ['server', 'fault', 'requests', 'allow: 200', 'deny: 503', 'fallback: 200/429', 'p50 ms', 'p99 ms', 'counts'].join(
    ' | ',
  ),
]
afterAll(() => void process.stdout.write(`\n${table.join('\n')}\n\n`))

/** One request: what it was answered, and how long that took. */
interface Sample {
  readonly action: Served['action']
  readonly status: number
  readonly ms: number
  readonly atMs: number
}

/** Two clients knock at each app, one request after the other, for as long as the fault lasts. */
async function knock(apps: readonly Served[], client: string): Promise<readonly Sample[]> {
  const start = performance.now()
  const samples: Sample[] = []
  const caller = async (app: Served): Promise<void> => {
    while (performance.now() - start < lastsMs) {
      const atMs = performance.now() - start
      const { status } = await app.ask(client)
      samples.push({ action: app.action, status, ms: performance.now() - start - atMs, atMs })
    }
  }
  await Promise.all(apps.flatMap((app) => [caller(app), caller(app)]))
  return samples
}

/** Asks each app until it is told what is left: a busy machine may be late for a deadline, which is no fault. */
async function asked(
  apps: readonly Served[],
  client: string,
): Promise<readonly { remaining: number; times: number }[]> {
  const told: { remaining: number; times: number }[] = []
  for (const app of apps) {
    let [remaining, times]: [number | undefined, number] = [undefined, 0]
    await until(async () => {
      times++
      remaining = (await app.ask(client)).remaining
      return remaining !== undefined
    })
    told.push({ remaining: (remaining as number | undefined) ?? Number.NaN, times })
  }
  return told
}

/** What was asked before the fault was felt, or after it had passed, may have been decided as ever. */
function isPromised({ action, status, atMs }: Sample, passes: boolean): boolean {
  const asEver = passes || atMs < lastsMs / 2 ? [200] : []
  return [...actions[action], ...asEver].includes(status)
}

const quantile = (samples: readonly Sample[], share: number): string => {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(0)
}

const share = (samples: readonly Sample[], action: Served['action']): string => {
  const own = samples.filter((sample) => sample.action === action)
  const kept = own.filter(({ status }) => (actions[action] as readonly number[]).includes(status))
  return `${kept.length}/${own.length}`
}

/** What each server is made to suffer. Not here: a cluster all of whose nodes are gone at once, a full disk of PostgreSQL. */
const possible: Readonly<Record<string, readonly Fault[]>> = {
  Redis: faults.filter((fault) => fault !== 'failover'),
  'Redis Cluster': faults.filter((fault) => fault !== 'killed' && fault !== 'restarted empty'),
  PostgreSQL: faults.filter((fault) => fault !== 'out of memory' && fault !== 'failover'),
}

describe.each(Object.keys(subjects))('%s', (name) => {
  let subject: Subject
  let apps: readonly Served[]
  const answers = (): Promise<void> => {
    const limiter = rateLimiter({ quota: perHour(LIMIT), store: subject.store, name: 'probe', deadline: '2s' })
    return until(() =>
      limiter.consume('anybody').then(
        () => true,
        () => false,
      ),
    )
  }
  beforeAll(async () => {
    subject = (await subjects[name]?.()) as Subject
    await answers()
    apps = await serveAll(subject.store)
  })
  beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())
  afterAll(async () => {
    for (const app of apps) app.stop()
    await subject.stop()
  })

  // What a server cannot suffer is not in its list.
  const suffers = (fault: Fault): boolean => possible[name]?.includes(fault) ?? false
  test.each(faults.filter(suffers))(
    '%s: nobody hangs, each policy does what it says, and the count goes on',
    async (fault) => {
      const { begin, end, forgets, passes } = subject.troubles[fault] as Trouble
      const steady = `steady ${fault}`
      // Three times, so that a server that forgets is seen to.
      for (let i = 0; i < 2; i++) await asked(apps, steady)
      const before = await asked(apps, steady)

      await begin()
      const samples = await knock(apps, `load ${fault}`)
      await end()
      await answers()

      expect(samples.filter((sample) => !isPromised(sample, passes === true))).toEqual([])
      const after = await asked(apps, steady)
      // One less for each time it was asked, but for what comes back every 18 seconds; or as new, where it was forgotten.
      const differences = after.map(({ remaining, times }, i) => ({
        times,
        by: remaining - (before[i]?.remaining ?? 0),
      }))
      expect(differences.filter(({ by, times }) => by < -times || (by > 1 && !forgets))).toEqual([])
      const counts = differences.every(({ by }) => by <= 1) ? 'as before' : 'as new'
      table.push(
        [
          name,
          fault,
          samples.length,
          share(samples, 'allow'),
          share(samples, 'deny'),
          share(samples, 'fallback'),
          quantile(samples, 0.5),
          quantile(samples, 0.99),
          counts,
        ].join(' | '),
      )
    },
  )

  test('the list of what it can suffer is whole', () => {
    expect(Object.keys(subject.troubles).sort()).toEqual([...(possible[name] ?? [])].sort())
  })
})
