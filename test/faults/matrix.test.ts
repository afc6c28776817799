import { setTimeout as sleep } from 'node:timers/promises'
import { perHour, rateLimiter } from '@spillway/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { until } from '../services/redis-cluster.ts'
import { actions, CRASHED, HUNG, LIMIT, LOCAL_LIMIT, type Served, serveAll } from './apps.ts'
import { boundOf, exhaust, takenBy } from './local.ts'
import { type Fault, faults, type Subject, subjects, type Trouble } from './servers.ts'
import { addRow, printTable } from './table.ts'

// Real servers fail under load through every adapter, with every failure mode. The tests need real time, as servers do.
// `FAULT_SECONDS=30` makes each fault last 30 s, and requires that hardly any request waits for longer than the deadline,
// which only an idle machine can meet.

const seconds = process.env['FAULT_SECONDS']
const lastsMs = Number(seconds ?? 0.5) * 1_000
/** How often a client sends requests. */
const EVERY_MS = 25
const DEADLINE_MS = 50
const SLACK_MS = 10
afterAll(printTable)

/** One request: its status and latency. */
interface Sample {
  readonly action: Served['action']
  readonly status: number
  readonly ms: number
  readonly atMs: number
}

/**
 * Two callers send requests to each app for as long as the fault lasts. They use another client key each second, so that
 * no client exceeds its quota when a server returns without its states, or is replaced.
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

/** The client keys that `knock` uses during a fault. */
const loadClients = (fault: Fault): readonly string[] =>
  Array.from({ length: Math.ceil(lastsMs / 1_000) }, (_, i) => `load ${fault} ${i}`)

/** Sends requests to each app until the store answers: a busy machine may miss a deadline, which is not a fault. */
async function asked(
  apps: readonly Served[],
  client: string,
): Promise<readonly { remaining: number; times: number }[]> {
  const reported: { remaining: number; times: number }[] = []
  for (const app of apps) {
    let [remaining, times]: [number | undefined, number] = [undefined, 0]
    await until(async () => {
      times++
      remaining = (await app.ask(client)).remaining
      return remaining !== undefined
    })
    reported.push({ remaining: (remaining as number | undefined) ?? Number.NaN, times })
  }
  return reported
}

/** Requests before the fault was detected, or after it has ended, may be decided as usual. */
function isPromised({ action, status, atMs }: Sample, passes: boolean): boolean {
  const asEver = passes || atMs < lastsMs / 2 ? [200] : []
  return [...actions[action], ...asEver].includes(status)
}

/** The latency in milliseconds that a limiter adds at a percentile, compared with an app without a limiter. */
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

/** The faults of each server. Not tested: a cluster without any node, and a full disk of PostgreSQL. */
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

  // A server's list has only its possible faults.
  const suffers = (fault: Fault): boolean => possible[name]?.includes(fault) ?? false
  test.each(faults.filter(suffers))(
    '%s: no request hangs, each failure mode does what it says, and the count continues',
    async (fault) => {
      const { begin, end, passes, ...trouble } = subject.troubles[fault] as Trouble
      const steady = `steady ${fault}`
      const promotions = await subject.promotions?.()
      const locals = apps.filter(({ action }) => action === 'local')
      // Three times, to detect a server that loses its states.
      for (let i = 0; i < 2; i++) await asked(limited, steady)
      const before = await asked(limited, steady)

      const greedy = `greedy ${fault}`
      const startMs = performance.now()
      const allowed = [await exhaust(locals, greedy, LOCAL_LIMIT)]
      const clients = [greedy, ...loadClients(fault)]
      const takenBefore = await takenBy(subject.store, locals, clients)
      const byStoreBefore = locals.map(({ tally }) => tally.allowedByStore)

      await begin()
      const [samples, during] = await Promise.all([
        knock(apps, `load ${fault}`),
        exhaust(locals, greedy, 2 * LOCAL_LIMIT),
      ])
      await end()
      await answers()

      const byStore = locals.map(({ tally }, i) => tally.allowedByStore - (byStoreBefore[i] as number))
      const taken = await takenBy(subject.store, locals, clients)
      const lost = taken.map((units, i) => units - (takenBefore[i] as number) - (byStore[i] as number))
      allowed.push(during, await exhaust(locals, greedy, 2 * LOCAL_LIMIT))
      const bound = boundOf(performance.now() - startMs)
      const after = await asked(limited, steady)
      const forgets = trouble.forgets === true || promotions !== (await subject.promotions?.())
      const admitted = locals.map((_, i) => allowed.reduce((sum, each) => sum + (each[i] as number), 0))
      const most = bound + (forgets ? LOCAL_LIMIT : 0)
      expect(admitted.filter((each) => each > most || each < LOCAL_LIMIT)).toEqual([])
      const [hung, crashed] = [HUNG, CRASHED].map((status) => samples.filter((each) => each.status === status).length)
      expect({ hung, crashed }).toEqual({ hung: 0, crashed: 0 })

      expect(samples.filter((sample) => !isPromised(sample, passes === true))).toEqual([])
      if (seconds !== undefined) expect(added(samples, 0.99)).toBeLessThanOrEqual(DEADLINE_MS + SLACK_MS)
      // One unit less per request, plus a refill every 18 seconds; or a full quota if the server lost its states.
      const refilled = 1 + Math.floor((performance.now() - startMs) / 18_000)
      const differences = after.map(({ remaining, times }, i) => ({
        times,
        by: remaining - (before[i]?.remaining ?? 0),
      }))
      expect(differences.filter(({ by, times }) => by < -times || (by > refilled && !forgets))).toEqual([])
      const counts = differences.every(({ by }) => by <= refilled) ? 'as before' : 'as new'
      addRow({
        server: name,
        fault,
        requests: samples.length,
        'allow: 200': share(samples, 'allow'),
        'deny: 503': share(samples, 'deny'),
        'fallback: 200/429': share(samples, 'fallback'),
        'local: 200/429': share(samples, 'local'),
        admitted: Math.max(...admitted),
        bound: most,
        lost: forgets ? undefined : Math.max(0, ...lost),
        hung,
        crashed,
        'p50 added ms': added(samples, 0.5).toFixed(0),
        'p99 added ms': added(samples, 0.99).toFixed(0),
        counts,
      })
    },
  )

  test('the list of its possible faults is complete', () => {
    expect(Object.keys(subject.troubles).sort()).toEqual([...(possible[name] ?? [])].sort())
  })
})
