import { divideQuota, type SlotsQuota, type SlotsState } from '@spillway/core'
import { type Entry, isByStore, type Ledger, type Write } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'
import type { Confirmation, Holding } from '../slots/holdings.ts'
import type { StateServer } from '../state-server.ts'
import { sum, usedOf } from './balance.ts'
import { groupBy } from './groups.ts'
import { clockOf, entriesOf, writesOf } from './states.ts'

/** A holding of which its caller knows that it holds slots. */
type Held = Holding & { readonly entry: Entry & { readonly answeredAt: number } }

const isHeld = ({ entry }: Holding): boolean => entry?.decision?.allowed === true

/** What callers hold, as the store has answered. */
const heldByStore = ({ holdings }: Ledger): readonly Held[] =>
  (holdings.all as readonly Held[]).filter((each) => isHeld(each) && isByStore(each.entry))

/** When its caller knew that it holds slots no longer, or was killed. */
const endOf = ({ lostAt = Infinity, releasedAt = Infinity, host }: Held, { killed }: Ledger): number =>
  Math.min(lostAt, releasedAt, killed.get(host) ?? Infinity)

const stateOf = ({ server, name }: Entry): string => `${server.name} ${name}`

const shown = ({ host, entry }: Held): string =>
  `${host.name}, which acquired ${entry.cost} of ${entry.name} at ${entry.calledAt} µs,`

const quotaOf = ({ quota }: Entry): SlotsQuota => quota as SlotsQuota

/**
 * Never are more slots held than there are: of those that the store has confirmed within their `ttl`. What it has confirmed before
 * it lost the state or was asked to reset it does not count, as after a failover. A server's clock that is set forward is so much
 * earlier at the end of a `ttl`.
 */
export function holdersAreNoMore({ ledger }: Simulation): readonly string[] {
  const byState = groupBy(heldByStore(ledger), ({ entry }) => stateOf(entry))
  return [...byState.values()].flatMap((held) => {
    const [{ entry }] = held as [Held]
    const losses = lossesOf(ledger, entry.server, entry.name)
    const spans = held.flatMap((each) =>
      spansOf(each, ledger, losses).map((span) => ({ ...span, units: each.entry.cost })),
    )
    return tooMany(spans, quotaOf(entry).limit).map(
      ({ at, units }) => `${units} slots of ${entry.name} in ${entry.server.name} were held at ${at} µs`,
    )
  })
}

/** Without the store, each process gives no more slots than its share, each for a `ttl` by its clock, unless it is asked to reset them. */
export function processesHoldNoMore({ ledger, setting }: Simulation): readonly string[] {
  if (isReset(ledger)) return []
  const all = ledger.holdings.all as readonly Held[]
  const local = all.filter((each) => isHeld(each) && each.entry.decision?.degraded?.action === 'local')
  const byState = groupBy(local, ({ host, entry }) => `${host.name} ${entry.handle} ${stateOf(entry)}`)
  return [...byState.values()].flatMap((held) => {
    const [{ entry, host }] = held as [Held]
    const { limit, window } = quotaOf(entry)
    const share = setting.replicas > 1 ? divideQuota(quotaOf(entry), { replicas: setting.replicas }).limit : limit
    const spans = held.map((each) => ({
      from: each.entry.answeredAt,
      to: Math.min(endOf(each, ledger), endBy(ledger, host, each.entry.calledAt, window / 1.02)),
      units: each.entry.cost,
    }))
    return tooMany(spans, share).map(
      ({ at, units }) => `${host.name} gave ${units} slots of ${entry.name} without ${entry.server.name} at ${at} µs`,
    )
  })
}

interface Span {
  readonly from: number
  readonly to: number
}

/** When the state of a key was lost, or deleted by a call that was asked to. */
function lossesOf({ losses, writes, entries }: Ledger, server: StateServer, state: string): readonly number[] {
  const resets = entries.filter((entry) => entry.verb === 'reset' && entry.server === server && entry.name === state)
  // A reset that has failed may be made later.
  const isAsked = (at: number): boolean =>
    resets.some(({ calledAt, answeredAt = Infinity, error }) => calledAt <= at && (error || at <= answeredAt))
  const deleted = writes.filter((write) => write.server === server && write.name === state && write.state === undefined)
  return [
    ...losses.filter(({ server: of, name }) => of === server && (name ?? state) === state),
    ...deleted.filter(({ at }) => isAsked(at)),
  ].map(({ at }) => at)
}

/** The times in which a holding is sure that it holds its slots. */
function spansOf(held: Held, ledger: Ledger, losses: readonly number[]): readonly Span[] {
  const { entry, confirmations } = held
  const end = endOf(held, ledger)
  const spans: { from: number; to: number }[] = []
  for (const confirmation of [...confirmations].sort((a, b) => a.at - b.at)) {
    const from = Math.max(confirmation.at, entry.answeredAt)
    const to = Math.min(end, sureUntil(confirmation, entry, ledger, losses))
    const last = spans.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else if (from < to) spans.push({ from, to })
  }
  return spans
}

function sureUntil(
  { sentAt }: Confirmation,
  { server, quota }: Entry,
  ledger: Ledger,
  losses: readonly number[],
): number {
  return Math.min(endBy(ledger, server, sentAt, quota.window), ...losses.filter((at) => at >= sentAt))
}

/** When a span has passed by a clock that may be set forward. */
function endBy({ steps }: Ledger, clock: object, from: number, span: number): number {
  let end = from + span
  for (const { of, at, micros } of steps)
    if (of === clock && micros > 0 && at >= from && at <= end) end = Math.max(end - micros, at)
  return end
}

/** The first time at which there are more units than the most. */
function tooMany(
  spans: readonly (Span & { readonly units: number })[],
  most: number,
): readonly { at: number; units: number }[] {
  const changes = spans
    .flatMap(({ from, to, units }) =>
      from < to
        ? [
            { at: from, units },
            { at: to, units: -units },
          ]
        : [],
    )
    .sort((a, b) => a.at - b.at || a.units - b.units)
  let units = 0
  for (const change of changes) {
    units += change.units
    if (units > most) return [{ at: change.at, units }]
  }
  return []
}

/** The end of each slot in a state, by its number. */
function endsIn(state: unknown): ReadonlyMap<number, number> {
  const { slots } = (state ?? { slots: [] }) as SlotsState
  const ends = new Map<number, number>()
  for (let i = 0; i < slots.length; i += 2) ends.set(slots[i] as number, slots[i + 1] as number)
  return ends
}

const usedIn = (state: unknown, clock: number): number =>
  [...endsIn(state).values()].filter((end) => end > clock).length

/** The state of a slots policy at a time, and when it was written. */
const stateAt = (writes: readonly Write[], at: number): Write | undefined => writes.findLast((write) => write.at <= at)

/** In no state that a server has written are more slots in use than there are. */
export function statesHoldNoMore({ ledger, servers }: Simulation): readonly string[] {
  const writes = writesOf(ledger)
  return servers.flatMap((server) =>
    [...entriesOf(ledger, server)].flatMap(([name, [entry]]) =>
      writes(server, name)
        .filter(({ state, clock }) => usedIn(state, clock) > quotaOf(entry as Entry).limit)
        .map(
          ({ at, state, clock }) => `${server.name} has ${usedIn(state, clock)} slots of ${name} in use at ${at} µs`,
        ),
    ),
  )
}

/** Faults that keep no process from its store, if they are short. */
const HARMLESS: readonly string[] = ['wall clock step', 'killed process', 'stalled event loop', 'paused process']
const PAUSES: readonly string[] = ['stalled event loop', 'paused process', 'sleeping machine']

/** Whether no process stands still for half a `ttl`, and nothing else keeps it from its store. */
function isHarmless({ setting, faults }: Simulation): boolean {
  const stood = faults.filter(({ kind }) => PAUSES.includes(kind)).reduce((sum, { micros }) => sum + micros, 0)
  const isFast = setting.baseMicros + 10 * setting.jitterMicros < 5_000
  return isFast && stood < setting.quota.window / 2 && faults.every(({ kind }) => HARMLESS.includes(kind))
}

/** A process that runs and reaches its store keeps its slots until they are released. */
export function slotsAreKept(simulation: Simulation): readonly string[] {
  const { ledger } = simulation
  if (!isHarmless(simulation) || isReset(ledger)) return []
  return heldByStore(ledger).flatMap((held) => {
    const { id, entry, lostAt, host } = held
    if (lostAt !== undefined) return [`${shown(held)} learnt at ${lostAt} µs that they are lost`]
    const end = Math.min(endOf(held, ledger), nowOf(simulation))
    const at = firstWithout(id, entry, ledger, end)
    return at === undefined || ledger.killed.has(host) ? [] : [`${shown(held)} did not hold them at ${at} µs`]
  })
}

const nowOf = ({ world }: Simulation): number => world.now

/** The first time before an end at which a slot is not in use. */
function firstWithout(
  id: number,
  { server, name, answeredAt = 0 }: Entry,
  ledger: Ledger,
  end: number,
): number | undefined {
  const known = writesOf(ledger)(server, name)
  const since = known.filter(({ at }) => at > answeredAt && at <= end)
  const moments = [...since.map(({ at }) => at), end]
  let ends = endsIn(stateAt(known, answeredAt)?.state).get(id)
  for (const [i, at] of moments.entries()) {
    if (ends === undefined || ends <= clockOf(ledger, server, at))
      return at < end || ends !== undefined ? at : undefined
    const write = since[i]
    if (write) ends = endsIn(write.state).get(id)
  }
  return undefined
}

/** Two beats of three in a `ttl`, and what timers and the network add. */
const reportedWithin = (ttl: number): number => (2 * ttl * 1.1) / 3 + 500_000

/**
 * A caller learns that its slots are lost: at the end of the run, and soon, if only processes have stood still. It does not learn so
 * of slots that the store has had all the time.
 */
export function lossesAreReported(simulation: Simulation): readonly string[] {
  const { ledger, faults, setting } = simulation
  const isQuick = faults.every(({ kind }) => [...HARMLESS, ...PAUSES].includes(kind))
  const isFast = setting.baseMicros + 10 * setting.jitterMicros < 5_000
  const pauses = faults.filter(({ kind }) => PAUSES.includes(kind))
  const standsUntil = pauses.reduce((until, { at, micros }) => Math.max(until, at) + micros, 0)
  return heldByStore(ledger)
    .filter(({ reportsLoss, id }) => reportsLoss && id > 0)
    .flatMap((held) => {
      const { id, entry, lostAt, releasedAt, confirmations, host } = held
      const known = writesOf(ledger)(entry.server, entry.name)
      const lacks = (from: number, to: number): number | undefined =>
        [stateAt(known, from), ...known.filter(({ at }) => at > from && at <= to)].find(
          (write) => !endsIn(write?.state).has(id),
        )?.at
      if (lostAt !== undefined) {
        const since = Math.max(...confirmations.map(({ at }) => at))
        return lacks(since, lostAt) === undefined ? [`${shown(held)} learnt that it has lost what it has`] : []
      }
      if (ledger.killed.has(host)) return []
      const end = Math.min(releasedAt ?? Infinity, nowOf(simulation))
      const goneAt = lacks(entry.answeredAt, end - 1)
      if (goneAt === undefined) return []
      const isLate = isQuick && isFast && end > Math.max(goneAt, standsUntil) + reportedWithin(quotaOf(entry).window)
      return releasedAt === undefined || isLate
        ? [`${shown(held)} did not learn that they were lost at ${goneAt} µs`]
        : []
    })
}

/** Callers of a process and a store that wait for a key get its slots in the order of their calls. */
export function waitersAreServedInOrder({ ledger, faults }: Simulation): readonly string[] {
  // A caller who is not answered for a second is taken for lost.
  if (faults.some(({ micros }) => micros > 500_000)) return []
  const waits = (ledger.holdings.all as readonly Held[]).filter(({ entry }) => entry?.verb === 'acquireInLine')
  const lines = groupBy(waits, ({ host, entry }) => `${host.name} ${entry.handle} ${stateOf(entry)}`)
  return [...lines.values()].flatMap((line) => {
    let latest = 0
    return line
      .filter((each) => isHeld(each) && isByStore(each.entry))
      .flatMap((each) => {
        const isLate = each.entry.answeredAt < latest
        latest = Math.max(latest, each.entry.answeredAt)
        return isLate ? [`${shown(each)} was served at ${each.entry.answeredAt} µs, after later callers`] : []
      })
  })
}

/** How long after a release a caller in line, alone, acquires: it looks every 100 ms. */
const LOOKS = 500_000

/** A caller in line that is denied in the end has found no slot that stayed free for long. */
export function waitersAreServed({ ledger, faults, setting }: Simulation): readonly string[] {
  if (faults.length > 0 || setting.rate !== undefined) return []
  return ledger.entries
    .filter(({ verb, decision }) => verb === 'acquireInLine' && decision?.allowed === false)
    .flatMap((entry) => {
      const { server, name, cost, calledAt, answeredAt = 0, host } = entry
      const most = Math.max(...ledger.entries.filter((each) => each.name === name).map((each) => each.cost))
      const { limit } = quotaOf(entry)
      if (cost > limit || most > limit) return []
      const known = writesOf(ledger)(server, name).filter(({ at }) => at <= answeredAt)
      let freeSince: number | undefined
      const moments = [...known.map((write) => ({ at: write.at, write })), { at: answeredAt, write: undefined }]
      for (const { at, write } of moments) {
        if (freeSince !== undefined && at - Math.max(freeSince, calledAt) > LOOKS)
          return [`${host.name} waited for ${cost} of ${name} at ${at} µs, which were free since ${freeSince} µs`]
        const isFree = write !== undefined && usedIn(write.state, write.clock) + most <= limit
        freeSince = isFree ? (freeSince ?? at) : undefined
      }
      return []
    })
}

/** The slots of a process that was killed are free within 1.1 × `ttl`, unless the network delivers its last calls later. */
export function killedProcessesReturnSlots(simulation: Simulation): readonly string[] {
  const { ledger, faults } = simulation
  if (faults.some(({ kind }) => !HARMLESS.includes(kind) && !PAUSES.includes(kind))) return []
  return heldByStore(ledger).flatMap((held) => {
    const { host, id, entry } = held
    const killedAt = ledger.killed.get(host)
    if (killedAt === undefined) return []
    const at = killedAt + 1.1 * quotaOf(entry).window
    const end = endsIn(stateAt(writesOf(ledger)(entry.server, entry.name), at)?.state).get(id) ?? 0
    return end > clockOf(ledger, entry.server, at)
      ? [`${shown(held)} was killed at ${killedAt} µs, and they are held`]
      : []
  })
}

/**
 * In the end, when all that no process renews has expired, exactly those slots are in use that callers hold: none, if all have released
 * theirs. Without faults of others and resets, that holds as soon as all have.
 */
export function slotsAreReleased(simulation: Simulation): readonly string[] {
  const { ledger, servers, faults, settledAt } = simulation
  const isPlain = faults.every(({ kind }) => kind === 'wall clock step') && !hasFailed(ledger) && !isReset(ledger)
  const times = isPlain ? [settledAt, nowOf(simulation)] : [nowOf(simulation)]
  const held = heldByStore(ledger).filter((each) => each.reportsLoss)
  return servers.flatMap((server) =>
    [...entriesOf(ledger, server)].flatMap(([name]) =>
      times.flatMap((at) => {
        const used = usedIn(stateAt(writesOf(ledger)(server, name), at)?.state, clockOf(ledger, server, at))
        const isOf = (each: Held): boolean => each.entry.server === server && each.entry.name === name
        const own = sum(held.filter((each) => isOf(each) && endOf(each, ledger) > at).map(({ entry }) => entry.cost))
        return used === own
          ? []
          : [`${used} slots of ${name} in ${server.name} are in use at ${at} µs, and ${own} held`]
      }),
    ),
  )
}

const isReset = ({ entries }: Ledger): boolean => entries.some(({ verb }) => verb === 'reset')

/** Whether a call was not answered by the store: its slots may be taken late, or released late. */
const hasFailed = ({ entries, lostEffects, unopened }: Ledger): boolean =>
  lostEffects.length > 0 || unopened.length > 0 || entries.some((each) => each.decision?.degraded || isFailed(each))

const isFailed = ({ error, decision }: Entry): boolean =>
  error !== undefined && decision === undefined && (error as Error).message !== 'The caller left.'

/** Of a rate that is taken with slots, exactly as many units are consumed as callers were allowed: all or none. */
export function ratesAreTakenWithSlots(simulation: Simulation): readonly string[] {
  const { ledger, servers, faults, setting } = simulation
  const { rate } = setting
  if (rate === undefined || faults.length > 0 || hasFailed(ledger) || isReset(ledger)) return []
  return servers.flatMap((server) =>
    Array.from({ length: setting.keys }, (_, i) => `key ${i}`).flatMap((key) => {
      const state = server.read(server.nameOf(key, 'rate'))
      const used = usedOf(state, server.now(), rate)
      const isOf = ({ entry }: Held): boolean => entry.server === server && entry.key === key
      const taken = heldByStore(ledger).filter((each) => each.reportsLoss && isOf(each))
      const own = sum(taken.map(({ entry }) => entry.cost))
      return Math.abs(used - own) < 0.5
        ? []
        : [`${used} units of ${key} in ${server.name} are used, and callers hold ${own}`]
    }),
  )
}
