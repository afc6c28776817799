import { type Decision, type Micros, type Quota, StoreError, type SyncStore, type Taken } from '@spillway/core'
import type { Denial, Guard, Header, RequestReader, Verdict } from '@spillway/core/http'
import { decide, stepFor } from '@spillway/core/internal'
import type { Arrival, Traffic } from './traffic.ts'

/** The parts of a decision that are shown. */
export type Outcome = Pick<Decision, 'allowed' | 'remaining' | 'retryAfterMs' | 'delayMs' | 'degraded'>

/** What an app answers to a request. */
export interface Reply {
  readonly status: number
  readonly decision: Outcome
  readonly headers: readonly Header[]
  readonly denial: Denial | undefined
}

/** A request and its response. */
export interface Answer extends Reply {
  readonly arrival: Arrival
  /** What happened to the request, if its decision does not say it. */
  readonly note?: string
}

/** What a line shows at a time, such as the remaining units: fractions if units refill continuously, otherwise whole units. */
export interface Level {
  readonly at: Micros
  readonly units: number
}

/** A bucket whose level is drawn over time. */
export interface Bucket {
  readonly name: string
  readonly policy: string
  readonly key: string
  readonly quota: Quota
  readonly store: SyncStore
}

/** A number over time, such as the level of a bucket. */
export interface Line {
  /** What it is, in the legend. */
  readonly name: string
  /** The number at the top of the drawing. */
  readonly top: number
  /** Whether it changes continuously between its points. */
  readonly isSloped?: boolean
  /** Whether it is the limit of the first line. */
  readonly isLimit?: boolean
  readonly points: readonly Level[]
}

/** A span of time. */
export interface Span {
  readonly from: Micros
  readonly to: Micros
}

/** An app that is sent the traffic. Its clock is what `clock.now` says. */
export interface App<T> {
  readonly clock: { now: Micros }
  /** Answers a request; `ordinal` chooses the process. */
  readonly answer: (arrival: Arrival, ordinal: number) => T
  readonly buckets: readonly Bucket[]
  /** The time in which the store fails, since the start of the run. */
  readonly outage?: Span
}

/** The result of an app for the traffic. */
export interface Run {
  readonly answers: readonly Answer[]
  /** The levels of the buckets; that of the first is the one that is shown as a number. */
  readonly lines: readonly [Line, ...Line[]]
  /** The time in which the store fails, or the service is slow. */
  readonly outage?: Span | undefined
  /** What the table shows of it, by the names of its columns. */
  readonly facts?: Readonly<Record<string, string>>
  /** Whether its requests are so many that they are drawn as numbers over time. */
  readonly areMany?: boolean
}

type Requests = Pick<Traffic, 'arrivals' | 'span'>

/** How often levels are read between requests. */
const READINGS = 360
/** The most requests of a run around each of which levels are read; of more, a drawing shows no single one. */
const MOST_READ = 2_000
/** A midnight, at which a day, an hour and a minute begin. */
const MIDNIGHT: Micros = Date.UTC(2026, 0, 1) * 1000

/** The start of a run: a window boundary. */
export const startOf = (window: Micros): Micros => Math.floor(MIDNIGHT / window) * window

/** Sends traffic to an app that answers at once. */
export function runApp(app: App<Reply>, requests: Requests): Run {
  const record = recorder(app, requests)
  requests.arrivals.forEach((arrival, i) => {
    record.before(arrival)
    record.after(arrival, app.answer(requestOf(arrival), i))
  })
  return record.end()
}

/** Sends traffic to an app one request after the other, each when the one before is answered. */
export async function runSlowApp(app: App<Promise<Reply>>, requests: Requests): Promise<Run> {
  const record = recorder(app, requests)
  for (const [i, arrival] of requests.arrivals.entries()) {
    record.before(arrival)
    record.after(arrival, await app.answer(requestOf(arrival), i))
  }
  return record.end()
}

/** A request of its own for each run: a request that passes several limiters gets the headers of all. */
export const requestOf = (arrival: Arrival): Arrival => ({ ...arrival })

interface Recorder {
  before(arrival: Arrival): void
  after(arrival: Arrival, reply: Reply): void
  end(): Run
}

function recorder({ clock, buckets, outage }: App<unknown>, { arrivals, span }: Requests): Recorder {
  const start = clock.now
  const answers: Answer[] = []
  const lines = buckets.map(({ name, quota }) => ({
    name: `units left: ${name}`,
    top: quota.limit,
    isSloped: quota.kernel === 'bucket' && quota.schedule === null,
    points: [] as Level[],
  }))
  const read = (): void => {
    for (const [i, bucket] of buckets.entries()) {
      lines[i]?.points.push({ at: clock.now - start, units: levelOf(bucket) })
    }
  }
  let reading = 0
  const readUntil = (at: Micros): void => {
    for (let next = 0; reading <= READINGS; reading++) {
      next = Math.round((span * reading) / READINGS)
      if (next > at) return
      clock.now = start + next
      read()
    }
  }
  const readsEach = arrivals.length <= MOST_READ
  return {
    before({ at }) {
      readUntil(at)
      clock.now = start + at
      if (readsEach) read()
    },
    after(arrival, reply) {
      if (readsEach) read()
      answers.push({ arrival, ...reply })
    },
    end() {
      readUntil(span - 1) // the next window begins at its end
      return { answers, lines: lines as unknown as Run['lines'], outage }
    },
  }
}

/** The remaining units, with fractions if they refill continuously. */
function levelOf({ policy, key, quota, store }: Bucket): number {
  const step = stepFor(quota, 'peek', 1)
  const [taken] = store.takeSync([{ policy, key, step }]) as [Taken]
  const { remaining, resetAfterMs } = decide(policy, quota, 1, step, taken)
  if (quota.kernel !== 'bucket' || quota.schedule !== null) return remaining
  return quota.limit - (resetAfterMs * 1000 * quota.scale) / quota.ticksPerUnit
}

/** The key of a request: of its client, or the same for all. */
export const keyBy =
  (apart: boolean) =>
  ({ client }: Pick<Arrival, 'client'>): string =>
    apart ? client : 'everybody'

const nothing = (): undefined => undefined
export const reader: RequestReader<Arrival> = {
  address: nothing,
  peer: nothing,
  method: () => 'GET',
  path: () => '/',
  header: nothing,
  query: nothing,
  identity: (arrival) => arrival,
  onClientClosed: () => () => {},
}

/** The reply to a verdict, as an adapter sends it. */
export const replyTo = ({ decision, headers, denial }: Verdict): Reply => ({
  status: denial?.status ?? 200,
  decision: decision as Outcome,
  headers,
  denial,
})

/** The reply of a middleware whose store may fail: with `'throw'`, the framework's error handler answers. */
export async function replyOf(guard: Guard<Arrival>, arrival: Arrival): Promise<Reply> {
  try {
    return replyTo(await guard(arrival))
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const decision = { allowed: false, remaining: 0, retryAfterMs: 0, delayMs: 0 }
    return { status: 500, decision, headers: [], denial: undefined }
  }
}
