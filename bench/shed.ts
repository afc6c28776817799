// Goodput at twice what a service can take, in real time: what sheds load, and what does not.

import underPressure from '@fastify/under-pressure'
import { shedder } from '@spillway/shed'
import { bulkhead } from 'cockatiel'
import fastify from 'fastify'
import overloadProtection from 'overload-protection'
import toobusy from 'toobusy-js'
import { type Case, figureOf, type Row, type Table } from './table.ts'

/** Work behind a bottleneck of 1,000 calls a second. */
type Work = () => Promise<void>
/** Runs work, or drops it: resolves to whether it was run. */
type Guard = (work: Work) => Promise<boolean>

/** What is offered, as a multiple of what can be served, and the calls a second that can be. */
const [LOAD, CAPACITY] = [2, 1_000]
/** Clients leave after so long: what they do not wait for is no goodput. */
const PATIENCE_MS = 200
/** The seconds of each candidate, of which the first ones are not counted. */
const [SECONDS, STARTING] = [60, 5]

/** Twenty calls at once, 20 ms each, the others in the order of their arrival: as a pool of connections. */
function semaphore(): Work {
  const waiting: (() => void)[] = []
  let busy = 0
  return async () => {
    if (busy === 20) await new Promise<void>((resolve) => void waiting.push(resolve))
    else busy += 1
    await new Promise((resolve) => setTimeout(resolve, 20))
    const next = waiting.shift()
    if (next) next()
    else busy -= 1
  }
}

/** A millisecond of the only thread. */
const computing = (): Work => async () => {
  const end = performance.now() + 1
  while (performance.now() < end);
}

const guards: Readonly<Record<string, () => Promise<Guard>>> = {
  'no protection': async () => async (work) => {
    await work()
    return true
  },
  spillway: async () => {
    const overload = shedder()
    return async (work) => {
      const permit = await overload.acquire()
      if (!permit.allowed) return false
      await work()
      permit.succeed()
      return true
    }
  },
  'cockatiel, a bulkhead of 20': async () => {
    const policy = bulkhead(20, 100)
    return (work) =>
      policy.execute(work).then(
        () => true,
        () => false,
      )
  },
  'toobusy-js': async () => async (work) => {
    if (toobusy()) return false
    await work()
    return true
  },
  'overload-protection': async () => {
    const protect = overloadProtection('http', { logging: false })
    return async (work) => {
      // It calls back only if the call may go ahead.
      let goesAhead = false
      const response = { setHeader: () => {}, end: () => {}, writeHead: () => {} }
      protect({}, response, () => {
        goesAhead = true
      })
      if (!goesAhead) return false
      await work()
      return true
    }
  },
  '@fastify/under-pressure': async () => {
    const app = fastify()
    // By its own example; without a limit it drops nothing.
    await app.register(underPressure, { maxEventLoopDelay: 1_000, maxEventLoopUtilization: 0.98 })
    const works: Work[] = []
    app.get('/', async () => {
      await works.shift()?.()
      return 'ok'
    })
    await app.ready()
    return async (work) => {
      works.push(work)
      const { statusCode } = await app.inject('/')
      if (statusCode === 503) works.pop()
      return statusCode === 200
    }
  },
}

interface Scores {
  /** The share of what can be served that was not, or not in time, in percent. */
  readonly lost: number
  /** The 99th percentile of the latency of calls that were served, in ms; undefined if none was. */
  readonly p99: number | undefined
}

/** Offers calls in regular intervals. A call that is sent late, as the thread is busy, has waited since it was due. */
async function offered(guard: Guard, work: Work, seconds: number, starting: number): Promise<Scores> {
  const latencies: number[] = []
  const start = performance.now()
  const [from, end] = [start + starting * 1_000, start + seconds * 1_000]
  const every = 1_000 / (LOAD * CAPACITY)
  const send = async (due: number): Promise<void> => {
    if (!(await guard(work))) return
    const now = performance.now()
    if (now >= from && now < end) latencies.push(now - due)
  }
  for (let due = start; due < end; ) {
    // What is due when the turn begins, as from sockets: the calls of later turns wait.
    const now = Math.min(performance.now(), end)
    for (; due < now; due += every) void send(due)
    await new Promise((resolve) => setImmediate(resolve))
  }
  latencies.sort((a, b) => a - b)
  const good = latencies.filter((each) => each <= PATIENCE_MS).length
  const most = CAPACITY * (seconds - starting)
  return { lost: 100 * Math.max(0, 1 - good / most), p99: latencies[Math.floor(latencies.length * 0.99)] }
}

/** Measures each guard in front of work, or the ones that are named. */
export async function shedTable(
  title: string,
  how: string,
  make: () => Work,
  progress: (share: number) => void,
  seconds: number = SECONDS,
  starting: number = STARTING,
): Promise<Table> {
  const rows: Row[] = []
  const all = Object.entries(guards)
  for (const [name, guard] of all) {
    const { lost, p99 } = await offered(await guard(), make(), seconds, starting)
    rows.push({ name, figures: [figureOf([lost]), p99 === undefined ? null : figureOf([p99])] })
    progress(rows.length / all.length)
  }
  return { title, how, columns: ['% of goodput lost', 'p99, ms'], rows, targets: [] }
}

const HOW = `Twice as many calls as can be served, ${SECONDS} s each, in real time and in one process. Goodput is what was served within ${PATIENCE_MS} ms; 1,000 calls a second can be.`

export const processes = 1

export const cases: Readonly<Record<string, Case>> = {
  semaphore: (progress) =>
    shedTable(
      'Overload of a pool of 20',
      `${HOW} The service takes 20 calls at once, 20 ms each.`,
      semaphore,
      progress,
    ),
  cpu: (progress) =>
    shedTable(
      'Overload of a CPU',
      `${HOW} Each call computes for 1 ms in the thread of the process.`,
      computing,
      progress,
    ),
}
