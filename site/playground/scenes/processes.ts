import { httpGuard, type Verdict } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { ALGORITHMS, functionIn } from '../algorithms.ts'
import { keyBy, type Run, reader, replyTo, runApp, startOf } from '../app.ts'
import type { LaneKind } from '../lane-kind.ts'
import type { Choices } from '../link.ts'
import type { Arrival, Traffic } from '../traffic.ts'

const { quota: quotaOf, code: codeOf } = ALGORITHMS.token

/** Two processes behind a load balancer that sends requests to one after the other: with a store each, and with one. */
export function processes(choices: Choices): readonly LaneKind[] {
  const code = codeOf(choices)
  const quota = { options: [`quota: ${code}`], imports: [functionIn(code)], left: 'units left' }
  const lane = (id: string, name: string, processes: number, stores: number, code: string): LaneKind => ({
    ...quota,
    id,
    name,
    code,
    remote: stores < processes,
    run: (traffic) => runProcesses(processes, stores, traffic, choices),
  })
  return [
    lane('one', 'One process', 1, 1, 'store: memoryStore()'),
    lane('apart', 'Two processes, a store each', 2, 2, 'store: memoryStore()'),
    lane('shared', 'Two processes, one store', 2, 1, 'store: redisStore(redis)'),
  ]
}

function runProcesses(processes: number, storeCount: number, traffic: Traffic, choices: Choices): Run {
  const { apart, headers } = choices
  const quota = quotaOf(choices)
  const clock = { now: startOf(quota.window) }
  const stores = Array.from({ length: storeCount }, () => memoryStore({ clock: () => clock.now }))
  const keyOf = keyBy(apart)
  const guards = Array.from({ length: processes }, (_, i) =>
    httpGuard<Arrival>(
      {
        name: 'default',
        quota,
        key: keyOf,
        cost: ({ cost }) => cost,
        headers,
        store: stores[i % storeCount] as (typeof stores)[number],
      },
      reader,
    ),
  )
  const buckets = stores.map((store, i) => ({
    name: `in process ${i + 1}`,
    policy: 'default',
    key: keyOf({ client: 'you' }),
    quota,
    store,
  }))
  const answer = (arrival: Arrival, ordinal: number) =>
    replyTo((guards[ordinal % processes] as (typeof guards)[number])(arrival) as Verdict)
  return runApp({ clock, answer, buckets }, traffic)
}
