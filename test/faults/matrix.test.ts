import { setTimeout as sleep } from 'node:timers/promises'
import { perHour, rateLimiter } from '@spillway/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { until } from '../services/redis-cluster.ts'
import { actions, LIMIT, type Served, serveAll } from './apps.ts'
import { type Fault, faults, type Subject, subjects, type Trouble } from './servers.ts'

// Servers that really fail, under load through every adapter, with each of the things an app may want done then. It takes
// real time, as servers do. `FAULT_SECONDS=30` makes each fault last as long, and asks for what a machine can only hold
// that has nothing else to do: that hardly a request waits for longer than the deadline.

const seconds = process.env['FAULT_SECONDS']
const lastsMs = Number(seconds ?? 0.5) * 1_000
/** How often a client asks. */
const EVERY_MS = 25
const DEADLINE_MS = 50
const SLACK_MS = 10
const table: string[] = [
  [
    'server',
    'fault',
    'requests',
    'allow: 200',
    'deny: 503',
    'fallback: 200/429',
    'p50 added ms',
    'p99 added ms',
    'counts',
  ].join(' | '),
]
afterAll(() => void process.stdout.write(`\n${table.join('\n')}\n\n`))

/** One request: what it was answered, and how long that took. */
interface Sample {
  readonly action: Served['action']
  readonly status: number
  readonly ms: number
  readonly atMs: number
}

/**
 * Two callers knock at each app, again and again, for as long as the fault lasts: as another client each second, so that
 * none of them has asked too much when a server is back that has forgotten, or another in its place.
 */
async function knock(apps: readonly Served[], client: string): Promise<readonly Sample[]> {
  const start = performance.now()
  const samples: Sample[] = []
  const caller = async (app: Served): Promise<void> => {
    while (performance.now() - start < lastsMs) {
      const atMs = performance.now() - start
      const { status } = await app.ask(`${client} ${Math.floor(atMs / 1_000)}`)
      samples.push({ action: app.action, status, ms: performance.now() - start - atMs, atMs })
      await sleep(EVERY_MS)
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

/** By how many milliseconds a limiter makes a share of requests later than an app without one answers the same share. */
function added(samples: readonly Sample[], share: number): number {
  const quantile = (some: readonly Sample[]): number =>
    some.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor((some.length - 1) * share)] ?? Number.NaN
  const [limited, bare] = [true, false].map((is) => samples.filter(({ action }) => (action !== 'none') === is))
  return quantile(limited ?? []) - quantile(bare ?? [])
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
  let limited: readonly Served[]
  const answers = (): Promise<void> => {
    const limiter = rateLimiter({
      quota: perHour(LIMIT),
      store: subject.store,
      name: 'probe',
      deadline: '2s',
      onStoreError: 'throw',
    })
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
    limited = apps.filter(({ action }) => action !== 'none')
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
      for (let i = 0; i < 2; i++) await asked(limited, steady)
      const before = await asked(limited, steady)

      await begin()
      const samples = await knock(apps, `load ${fault}`)
      await end()
      await answers()

      expect(samples.filter((sample) => !isPromised(sample, passes === true))).toEqual([])
      if (seconds !== undefined) expect(added(samples, 0.99)).toBeLessThanOrEqual(DEADLINE_MS + SLACK_MS)
      const after = await asked(limited, steady)
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
          added(samples, 0.5).toFixed(0),
          added(samples, 0.99).toFixed(0),
          counts,
        ].join(' | '),
      )
    },
  )

  test('the list of what it can suffer is whole', () => {
    expect(Object.keys(subject.troubles).sort()).toEqual([...(possible[name] ?? [])].sort())
  })
})
