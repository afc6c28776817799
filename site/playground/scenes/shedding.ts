import type { Micros } from '@spillway/core'
import { type Adaptive, adaptive, type Drop, type DropReason, type Permit, type Shedder, shedder } from '@spillway/shed'
import { shed } from '@spillway/shed/fetch'
import type { Answer, Level, Reply, Run } from '../app.ts'
import type { LaneKind } from '../lane-kind.ts'
import type { Choices } from '../link.ts'
import { SimulatedTime } from '../simulated.ts'
import { lastBefore, levelAt, spanText } from '../summary.ts'
import { type Arrival, seeded, type Traffic } from '../traffic.ts'

/** The service behind: so many requests at once, each for so long on average. */
const [WORKERS, TAKES_MS] = [2, 20]
/** What it can serve in a second. */
export const PER_SECOND: number = (WORKERS / TAKES_MS) * 1000
/** How long a client waits for the response. */
const PATIENCE_MS = 1_000

/** A service that slows down in the middle third of the run, behind a limit that is too high, and one that adapts. */
export function shedding({ fixed }: Choices): readonly LaneKind[] {
  const lane = (id: string, name: string, limit: string, make: () => Adaptive | number): LaneKind => ({
    id,
    name,
    code: `shed({ limit: ${limit} })`,
    options: [],
    shed: `{ limit: ${limit} }`,
    imports: limit === 'adaptive()' ? ['adaptive'] : [],
    left: 'in flight',
    now: stateAt,
    run: (traffic) => runShedding(traffic, make()),
  })
  return [
    lane('adaptive', 'A limit that adapts', 'adaptive()', () => adaptive()),
    lane('fixed', 'A limit that is fixed', `${fixed}`, () => fixed),
  ]
}

/** Why requests were not served in time. */
type Failure = DropReason | 'late'

/** A request that has been answered, or given up. */
interface Outcome {
  readonly arrival: Arrival
  readonly latencyMs?: number
  readonly drop?: Drop
}

async function runShedding(traffic: Traffic, limit: Adaptive | number): Promise<Run> {
  const { arrivals, span } = traffic
  const time = new SimulatedTime(0)
  const clock = { now: () => time.now / 1000, after: time.after }
  const overload = shedder({ limit, clock })
  const outage = { from: span / 3, to: (2 * span) / 3 }
  const service = workers(time, () => (time.now >= outage.from && time.now < outage.to ? 2 * TAKES_MS : TAKES_MS))
  const [inFlight, limits, queued]: [Level[], Level[], Level[]] = [[], [], []]
  const read = (): void => {
    const stats = overload.stats()
    for (const [points, units] of [
      [inFlight, stats.inFlight],
      [limits, stats.limit],
      [queued, stats.queued],
    ] as const) {
      if (points.at(-1)?.units !== units) points.push({ at: time.now, units })
    }
  }
  const outcomes: Outcome[] = []
  const arrive = (arrival: Arrival, index: number): void => {
    outcomes[index] = { arrival }
    overload.enter({}, (permit) => {
      if (permit.allowed) serve(permit, arrival, (latencyMs) => (outcomes[index] = { arrival, latencyMs }))
      else outcomes[index] = { arrival, drop: permit }
      read()
    })
    read()
  }
  /** The service goes on with a request whose client has left, as it does not know. */
  const serve = (permit: Permit, arrival: Arrival, inTime: (latencyMs: number) => void): void => {
    const leave = time.at(arrival.at + PATIENCE_MS * 1000, () => {
      permit.abort()
      read()
    })
    service(() => {
      leave()
      const latencyMs = (time.now - arrival.at) / 1000
      if (latencyMs >= PATIENCE_MS) return
      permit.succeed()
      inTime(latencyMs)
      read()
    })
  }
  read()
  for (const [index, arrival] of arrivals.entries()) time.at(arrival.at, () => arrive(arrival, index))
  while (time.next()) {
    // Each event is an arrival, an end or a timer of the shedder.
  }
  return runOf(outcomes, [inFlight, limits, queued], span, outage)
}

/** Workers that serve requests in the order of their arrival, each for half of the mean to three halves. */
function workers(time: SimulatedTime, mean: () => number): (done: () => void) => void {
  const waiting: (() => void)[] = []
  const random = seeded(7)
  let busy = 0
  const serve = (done: () => void): void => {
    busy += 1
    time.after(mean() * (0.5 + random()), () => {
      busy -= 1
      const next = waiting.shift()
      if (next) serve(next)
      done()
    })
  }
  return (done) => {
    if (busy < WORKERS) serve(done)
    else waiting.push(done)
  }
}

async function runOf(
  outcomes: readonly Outcome[],
  [inFlight, limits, queued]: readonly [Level[], Level[], Level[]],
  span: Micros,
  outage: Run['outage'],
): Promise<Run> {
  const responses = await responsesTo(outcomes.flatMap(({ drop }) => drop ?? []))
  const answers = outcomes.map(({ arrival, latencyMs, drop }): Answer => {
    if (drop) return { arrival, ...(responses.get(drop) as Reply), note: `dropped: ${drop.reason}` }
    if (latencyMs === undefined)
      return { arrival, ...LEFT, note: `no answer in ${spanText(PATIENCE_MS)}: the client left` }
    return { arrival, ...SERVED, note: `served in ${spanText(Math.round(latencyMs))}` }
  })
  const within = (points: readonly Level[]): readonly Level[] => points.filter(({ at }) => at <= span)
  const top = Math.max(...[inFlight, limits, queued].flatMap((points) => within(points).map(({ units }) => units)))
  const latencies = outcomes.flatMap(({ latencyMs }) => latencyMs ?? []).sort((a, b) => a - b)
  return {
    answers,
    lines: [
      { name: 'in flight', top, points: within(inFlight) },
      { name: 'limit', top, isLimit: true, points: within(limits) },
      { name: 'waiting', top, points: within(queued) },
    ],
    outage,
    areMany: true,
    facts: {
      'p99 of those':
        latencies.length === 0 ? '–' : spanText(Math.round(latencies[Math.floor(latencies.length * 0.99)] as number)),
      Reasons: reasonsText(answers) || '–',
    },
  }
}

const failureOf = ({ note = '' }: Answer): Failure | undefined =>
  note.startsWith('dropped: ') ? (note.slice(9) as DropReason) : note.startsWith('no answer') ? 'late' : undefined

/** How many were dropped, by reason: `time-out 310, queue-full 2`. */
function reasonsText(answers: readonly Answer[]): string {
  const counts = new Map<Failure, number>()
  for (const answer of answers) {
    const failure = failureOf(answer)
    if (failure) counts.set(failure, (counts.get(failure) ?? 0) + 1)
  }
  return [...counts].map(([reason, count]) => `${reason} ${count}`).join(', ')
}

function stateAt({ answers, lines }: Run, at: Micros): string {
  const waiting = levelAt(lines[2] ?? { points: [] }, at)
  const reasons = reasonsText(answers.slice(0, lastBefore(answers, at) + 1))
  return `${waiting} waiting${reasons && `; so far: ${reasons}`}`
}

const SERVED: Reply = {
  status: 200,
  decision: { allowed: true, remaining: 0, retryAfterMs: 0, delayMs: 0 },
  headers: [],
  denial: undefined,
}
const LEFT: Reply = { ...SERVED, status: 499, decision: { ...SERVED.decision, allowed: false } }

/** The responses to dropped requests, as the adapter for fetch sends them. */
async function responsesTo(drops: readonly Drop[]): Promise<ReadonlyMap<Drop, Reply>> {
  let current: Drop
  const decide: Pick<Shedder, 'enter'> = {
    enter: (_, decided) => {
      decided(current)
      return () => {}
    },
  }
  const handle = shed({ shedder: decide as Shedder })(() => new Response())
  const request = new Request('http://localhost/')
  const replies = drops.map(async (drop): Promise<[Drop, Reply]> => {
    current = drop
    const response = await handle(request)
    const headers = [...response.headers].filter(([name]) => name !== 'content-type')
    const contentType = response.headers.get('content-type') ?? ''
    const { status } = response
    const denial = { status, contentType, headers, body: await response.text() }
    const decision = { allowed: false, remaining: 0, retryAfterMs: drop.retryAfterMs, delayMs: 0 }
    return [drop, { status, decision, headers, denial }]
  })
  return new Map(await Promise.all(replies))
}
