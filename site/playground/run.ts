import type { Quota, SyncStore, Taken } from '@spillway/core'
import { type HeaderForm, httpGuard, type Verdict } from '@spillway/core/http'
import { decide, stepFor } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import { keyBy, type Run, reader, replyTo, runApp, startOf } from './app.ts'
import type { Arrival, Traffic } from './traffic.ts'

export interface Terms {
  /** Whether each client has a bucket of its own. */
  readonly apart: boolean
  readonly headers: HeaderForm
}

/** Sends traffic through core's guard, with an in-memory store that uses the traffic's clock. */
export function run(quota: Quota, requests: Pick<Traffic, 'arrivals' | 'span'>, { apart, headers }: Terms): Run {
  const clock = { now: startOf(quota.window) }
  let seen: readonly Taken[] = []
  const { takeSync, deleteSync, take, delete: remove } = memoryStore({ clock: () => clock.now })
  const store: SyncStore = {
    take,
    delete: remove,
    deleteSync,
    takeSync: (ops, at) => {
      seen = takeSync(ops, at)
      return seen
    },
  }
  const keyOf = keyBy(apart)
  const guard = httpGuard<Arrival>(
    { quota: atOnce(quota), key: keyOf, cost: ({ cost }) => cost, headers, store },
    reader,
  )
  const answer = (arrival: Arrival) => {
    const reply = replyTo(guard(arrival) as Verdict)
    const step = stepFor(quota, 'consume', arrival.cost)
    return { ...reply, decision: decide('default', quota, arrival.cost, step, seen[0] as Taken) }
  }
  const keys = new Set(
    ['you' as const, ...requests.arrivals.map(({ client }) => client)].map((client) => keyOf({ client })),
  )
  const buckets = [...keys].map((key) => ({
    name: key === 'flood' ? 'the flood' : 'a client',
    policy: 'default',
    key,
    quota,
    store: { ...store, takeSync },
  }))
  return runApp({ clock, answer, buckets }, requests)
}

/** A quota whose requests the guard does not delay: the run has its own clock. */
const atOnce = (quota: Quota): Quota => (quota.kernel === 'bucket' ? { ...quota, immediateUnits: quota.limit } : quota)
