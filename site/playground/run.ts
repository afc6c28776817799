import type { Decision, Micros, Quota, SyncStore, Taken } from '@spillway/core'
import {
  type Denial,
  type Header,
  type HeaderForm,
  httpGuard,
  type RequestReader,
  type Verdict,
} from '@spillway/core/http'
import { decide, stepFor } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { Arrival, Client, Traffic } from './traffic.ts'

/** A request and its response. */
export interface Answer {
  readonly arrival: Arrival
  readonly decision: Decision
  readonly headers: readonly Header[]
  readonly denial: Denial | undefined
}

/** The remaining units at a time: fractions if units refill continuously, otherwise whole units. */
export interface Level {
  readonly at: Micros
  readonly units: number
}

/** The result of one algorithm for the traffic. */
export interface Run {
  readonly quota: Quota
  readonly answers: readonly Answer[]
  readonly levels: ReadonlyMap<Client, readonly Level[]>
}

export interface Terms {
  /** Whether each client has a bucket of its own. */
  readonly apart: boolean
  readonly headers: HeaderForm
}

/** How often levels are read between requests. */
const READINGS = 360
/** The most requests of a run around each of which levels are read; of more, a drawing shows no single one. */
const MOST_READ = 2_000
/** A midnight, at which a day, an hour and a minute begin. */
const MIDNIGHT: Micros = Date.UTC(2026, 0, 1) * 1000

const nothing = (): undefined => undefined
const reader: RequestReader<Arrival> = {
  address: nothing,
  peer: nothing,
  method: () => 'GET',
  path: () => '/',
  header: nothing,
  query: nothing,
  identity: (arrival) => arrival,
  onClientClosed: () => () => {},
}

/** Sends traffic through core's guard, with an in-memory store that uses the traffic's clock. */
export function run(
  quota: Quota,
  { arrivals, span }: Pick<Traffic, 'arrivals' | 'span'>,
  { apart, headers }: Terms,
): Run {
  // The run begins at a window boundary.
  const start = Math.floor(MIDNIGHT / quota.window) * quota.window
  let now = start
  let seen: readonly Taken[] = []
  const { takeSync, deleteSync, take, delete: remove } = memoryStore({ clock: () => now })
  const store: SyncStore = {
    take,
    delete: remove,
    deleteSync,
    takeSync: (ops, at) => {
      seen = takeSync(ops, at)
      return seen
    },
  }
  const keyOf = ({ client }: Pick<Arrival, 'client'>): string => (apart ? client : 'everybody')
  const guard = httpGuard<Arrival>(
    { quota: atOnce(quota), key: keyOf, cost: ({ cost }) => cost, headers, store },
    reader,
  )
  const levelOf = (client: Client): number => {
    const step = stepFor(quota, 'peek', 1)
    const [taken] = takeSync([{ policy: 'default', key: keyOf({ client }), step }]) as [Taken]
    return unitsLeft(quota, decide('default', quota, 1, step, taken))
  }

  const clients = [...new Set(arrivals.map(({ client }) => client))]
  const levels = new Map(clients.map((client): [Client, Level[]] => [client, []]))
  if (levels.size === 0) levels.set('you', [])
  const read = (): void => {
    for (const [client, points] of levels) points.push({ at: now - start, units: levelOf(client) })
  }
  let reading = 0
  const readUntil = (at: Micros): void => {
    for (let next = 0; reading <= READINGS; reading++) {
      next = Math.round((span * reading) / READINGS)
      if (next > at) return
      now = start + next
      read()
    }
  }
  const readsEach = arrivals.length <= MOST_READ
  const answers = arrivals.map((arrival): Answer => {
    readUntil(arrival.at)
    now = start + arrival.at
    if (readsEach) read()
    const { headers, denial } = guard(arrival) as Verdict
    const step = stepFor(quota, 'consume', arrival.cost)
    const decision = decide('default', quota, arrival.cost, step, seen[0] as Taken)
    if (readsEach) read()
    return { arrival, decision, headers, denial }
  })
  readUntil(span - 1) // the next window begins at its end
  return { quota, answers, levels }
}

/** A quota whose requests the guard does not delay: the run has its own clock. */
const atOnce = (quota: Quota): Quota => (quota.kernel === 'bucket' ? { ...quota, immediateUnits: quota.limit } : quota)

/** The remaining units, with fractions if they refill continuously. */
function unitsLeft(quota: Quota, { remaining, resetAfterMs }: Decision): number {
  if (quota.kernel !== 'bucket' || quota.schedule !== null) return remaining
  return quota.limit - (resetAfterMs * 1000 * quota.scale) / quota.ticksPerUnit
}
