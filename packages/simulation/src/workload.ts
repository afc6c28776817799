import { consumeAll, type Decision, type KeyList, RateLimitedError } from '@spillway/core'
import { sweep } from '@spillway/postgres'
import type { Act } from './act.ts'
import type { Client } from './clients.ts'
import type { Context } from './context.ts'
import { request } from './http.ts'
import { HTTP } from './http-limit.ts'
import { type Entry, isByStore } from './ledger.ts'
import { Departure } from './runtime/departure.ts'
import type { Handle, Process, Simulation } from './simulation.ts'
import { acquire } from './slots/acts.ts'
import type { StateServer } from './state-server.ts'

/** What a process can be asked to do. */
const ACTS: Readonly<Record<Act['does'], (context: Context) => Promise<unknown>>> = {
  consume: (context) => consume(context),
  peek: ({ handle, key, act, enter }) => enter(0, 0, () => handle.limiter.peek(key, act.cost)),
  refund: ({ handle, key, act, enter }) => enter(act.cost, 0, () => handle.limiter.refund(key, act.cost)),
  async charge({ handle, key, act, enter }) {
    const entry = await enter(act.cost, 0, () => handle.limiter.charge(key, act.cost))
    entry.kept = entry.decision === undefined ? 0 : act.cost
  },
  request,
  reserve,
  wait,
  async upTo({ handle, key, act, enter }) {
    let consumed = 0
    const entry = await enter(act.cost, 0, async () => {
      const decision = await handle.limiter.consumeUpTo(key, act.cost)
      consumed = decision.consumed
      return decision
    })
    entry.kept = consumed
  },
  reset: ({ handle, key, enter }) => enter(0, 0, () => handle.limiter.reset(key).then(() => undefined)),
  both,
  async release({ handle, act, simulation: { world, ledger, serverOf } }) {
    const release = { server: serverOf(act.server), calledAt: world.now, endedAt: undefined as number | undefined }
    ledger.releases.push(release)
    await handle.release()
    release.endedAt = world.now
  },
  list,
  resetAll,
  async sweep({ process, act }) {
    const { pool } = process.clients[act.server] as Client
    // If the server fails, the next sweep deletes the rows.
    if (pool) await sweep(pool).catch(() => {})
  },
  acquire,
  acquireInLine: acquire,
}

/** Begins an act in its process. */
export function begin(simulation: Simulation, act: Act): void {
  const process = simulation.processOf(act.process)
  const key = `key ${act.key}`
  const handle = process.handles[act.server]?.[act.handle] as Handle
  const enter: Context['enter'] = (cost, waitMs, call, policy) =>
    tracked(simulation, process, act, { server: act.server, key, policy, cost, waitMs }, call)
  process.host.receive(() => {
    for (let i = 0; i < act.times; i++) void ACTS[act.does]({ simulation, process, handle, act, key, enter })
  })
}

/** Deadlines that a call may take one after the other: of its checks, and of the refunds that its caller waits for. */
const DEADLINES = 2
/** Timers are whole milliseconds, and clocks drift. */
const GRACE_MS = 10
/** Callers that wait for a window stand in line: each may wait as long as those before it, and asks twice more. */
const LINE_MS = 3_000

async function tracked(
  { ledger, setting, servers }: Simulation,
  { host, handles }: Process,
  act: Act,
  {
    server,
    key,
    policy,
    cost,
    waitMs,
  }: { server: number; key: string; policy?: string | undefined; cost: number; waitMs: number },
  call: () => Promise<Decision | undefined>,
): Promise<Entry> {
  const { deadlineMs } = setting
  const handle = handles[server]?.[act.handle] as Handle
  const asked = servers[server] as StateServer
  const quota = policy === HTTP ? handle.httpQuota : setting.quota
  const isInLine =
    act.does === 'acquireInLine' || (act.does === 'wait' && quota.kernel !== 'bucket' && quota.kernel !== 'warm-up')
  const lineMs = isInLine ? LINE_MS + DEADLINES * deadlineMs : 0
  const entry = ledger.begin({
    verb: act.does,
    host,
    handle: act.handle,
    server: asked,
    key,
    name: asked.nameOf(key, policy),
    cost,
    quota,
    mayLast: (DEADLINES * deadlineMs + waitMs + GRACE_MS + lineMs) * 1020,
  })
  try {
    entry.decision = await call()
    if (entry.decision?.allowed && act.does !== 'refund') entry.kept = cost
  } catch (error) {
    entry.error = error
    if (error instanceof RateLimitedError) entry.decision = error.decision
  }
  ledger.answered(entry)
  return entry
}

/** How long a client waits to retry, at most. */
const LONGEST_RETRY_MS = 5_000

async function consume({ handle, key, act, enter, simulation, process }: Context): Promise<void> {
  const call = (): Promise<Entry> => enter(act.cost, 0, () => handle.limiter.consume(key, act.cost))
  const first = await call()
  const { allowed = true, retryAfterMs = 0 } = first.decision ?? {}
  if (!act.retries || allowed || !isByStore(first) || retryAfterMs > LONGEST_RETRY_MS) return
  simulation.world.after(Math.ceil(retryAfterMs * 1000), () =>
    process.host.receive(() => {
      void call().then((entry) => {
        entry.retryOf = first
      })
    }),
  )
}

async function reserve({ handle, key, act, enter, simulation, process }: Context): Promise<void> {
  const maxWait = act.maxWaitMs === 0 ? 0 : (`${act.maxWaitMs}ms` as const)
  let settle = async (_actual: number): Promise<void> => {}
  const entry = await enter(act.cost, 0, async () => {
    const reservation = await handle.limiter.reserve(key, { cost: act.cost, maxWait })
    settle = (actual) => (actual === 0 ? reservation.cancel() : reservation.commit(actual))
    return reservation
  })
  if (!entry.decision?.allowed) return
  simulation.world.after(act.laterMicros, () =>
    process.host.receive(() => {
      entry.kept = act.actual
      entry.refundedAt = simulation.world.now
      void settle(act.actual).then(
        () => {
          entry.refundAnsweredAt = simulation.world.now
        },
        () => {
          // If the store does not answer, a refund is made later, and a charge is refunded.
          entry.kept = Math.min(act.actual, act.cost)
        },
      )
    }),
  )
}

async function wait({ handle, key, act, enter, simulation, process }: Context): Promise<void> {
  const leaves = new Departure()
  const maxWait = act.maxWaitMs === 0 ? 0 : (`${act.maxWaitMs}ms` as const)
  simulation.world.after(act.laterMicros, () => process.host.receive(() => leaves.abort(new Error('The caller left.'))))
  await enter(act.cost, act.maxWaitMs, () => handle.limiter.wait(key, { cost: act.cost, maxWait, signal: leaves }))
}

/** How long keys are listed, at most. */
const LIST_MS = 1_000
/** The name of its entry is that of no state. */
const LISTED = 'listed'

async function list({ handle, enter }: Context): Promise<void> {
  let listed: KeyList | undefined
  const call = async (): Promise<undefined> => {
    listed = await handle.limiter.list()
  }
  const entry = await enter(0, LIST_MS, call, LISTED)
  entry.listed = listed
}

/** It has no deadline: it waits for the network, for connections and locks, and while a server or the network stands still. */
const RESET_MS = 20_000
const STANDSTILLS: readonly string[] = ['frozen server', 'network partition']

/** Resets all keys by one call, which is entered as a reset of each. */
async function resetAll({ handle, process, act, simulation }: Context): Promise<void> {
  const call = handle.limiter.resetAll().then(() => undefined)
  const standstills = simulation.faults.filter(({ kind }) => STANDSTILLS.includes(kind))
  const stillMs = standstills.reduce((sum, { micros }) => sum + micros / 1000, 0)
  const ofKey = (key: string) => ({ server: act.server, key, cost: 0, waitMs: RESET_MS + stillMs })
  const keys = Array.from({ length: simulation.setting.keys }, (_, i) => `key ${i}`)
  await Promise.all(keys.map((key) => tracked(simulation, process, { ...act, does: 'reset' }, ofKey(key), () => call)))
}

/** Consumes from the limiters of all servers, all-or-nothing. */
async function both({ process, act, key, simulation }: Context): Promise<void> {
  const handles = process.handles.map((each) => each[act.handle] as Handle)
  const call = consumeAll(handles.map(({ limiter }) => [limiter, key, act.cost] as const))
  await Promise.all(
    handles.map((_, server) =>
      tracked(simulation, process, act, { server, key, cost: act.cost, waitMs: 0 }, async () => {
        const decision = await call
        const { degraded: _, ...merged } = decision
        return decision.policies ? { ...merged, ...decision.policies[server], allowed: decision.allowed } : decision
      }),
    ),
  )
}
