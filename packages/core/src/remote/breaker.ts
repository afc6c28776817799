import { isUnsent, QuotaError, StoreError } from '../common/errors.ts'
import { promised } from '../common/maybe-promise.ts'
import { oncePer } from '../common/once-per.ts'
import { monotonicMs } from '../common/time.ts'
import type { StateKey, Store, Take } from '../stores/store.ts'
import { checkIsStore } from '../stores/store-kinds.ts'
import { failureLog } from './failure-log.ts'
import type { OnEnd, TimedCall } from './timed-call.ts'

/** Failures in a row that open a circuit. */
const FAILURE_THRESHOLD = 5
/** How long a circuit stays open at first, and at most; each failed probe doubles the time. */
const FIRST_OPEN_MS = 500
const LONGEST_OPEN_MS = 15_000
/** After how many times its deadline a probe has been lost: the event loop may extend the deadline. */
const LONGEST_PROBE = 2
/** The most shards whose failures are counted, and the most refunds that are kept for a store. */
const MAX_CIRCUITS = 1_000
const MAX_REFUNDS = 1_000

/** The health of a store, judged by its answers to this process. */
export interface StoreHealth {
  /** The state of the circuit breaker; of a store with several shards, the worst. */
  readonly circuit: 'closed' | 'half-open' | 'open'
  /** Refunds that are kept until the store answers again. */
  readonly refundsQueued: number
  /** Refunds that could neither be sent nor kept: these units only refill with time. */
  readonly refundsDropped: number
}

/**
 * A circuit breaker for each shard of a store. A call fails when its deadline passes. While a circuit is open, calls fail
 * at once; then it is half-open: one call at a time probes the shard, and its success closes the circuit.
 */
export interface Breaker {
  /** The result of a call: of its answer, or of its fallback if it fails or its deadline passes first. */
  call<A, T>(call: TimedCall<A, T>): Promise<T>
  /**
   * Refunds units of a call that the shard has just answered, through an open circuit, too. No caller waits for it. A refund
   * is sent once only: one that was sent and failed may have been made.
   */
  sendRefund(refunds: readonly Take[]): void
  /**
   * Sends a refund that failed before it was sent: at once if the shard's last call succeeded, else as soon as it answers
   * again. One that was sent is counted as dropped, unless it is answered late.
   */
  refundFailed(refunds: readonly Take[], error: unknown): void
  readonly health: StoreHealth
}

/** Options of a breaker, for tests. */
export interface BreakerOptions {
  /** The time in milliseconds. */
  readonly now?: () => number
}

type Shard = string | number | undefined

/** A shard that has failed. One that answers has no circuit: it is closed. */
interface Circuit {
  readonly shard: Shard
  failures: number
  failedProbes: number
  openUntilMs: number
  /** Until when a call that probes may be under way; 0 if none is. */
  probeUntilMs: number
  error: StoreError | undefined
  readonly refunds: (readonly Take[])[]
}

/** The circuit that a call had when it was sent, and whether it probes the shard. */
interface Attempt {
  readonly circuit: Circuit
  readonly isProbe: boolean
}

export function breaker(store: Store, { now = monotonicMs }: BreakerOptions = {}): Breaker {
  const circuits = new Map<Shard, Circuit>()
  const log = failureLog(store, now)
  let refundsQueued = 0
  let refundsDropped = 0

  // Thrown here, an error would leave the call without an answer. Keys of unknown shards have one circuit.
  const shardOf = (key: StateKey): Shard => {
    try {
      return store.shardOf?.(key) ?? store.slotOf?.(key)
    } catch {
      return undefined
    }
  }
  // As long as no shard has failed, the shard does not matter.
  const circuitOf = (key: StateKey): Circuit | undefined =>
    circuits.size === 0 ? undefined : circuits.get(shardOf(key))
  const dropped = (refunds = 1): void => {
    refundsDropped += refunds
    for (let i = 0; i < refunds; i++) log.dropped()
  }
  const addCircuit = (shard: Shard): Circuit => {
    const [oldest] = circuits.size < MAX_CIRCUITS ? [] : circuits.values()
    if (oldest !== undefined) {
      circuits.delete(oldest.shard)
      refundsQueued -= oldest.refunds.length
      dropped(oldest.refunds.length)
    }
    const circuit = { shard, failures: 0, failedProbes: 0, openUntilMs: 0, probeUntilMs: 0, error: undefined }
    const added: Circuit = { ...circuit, refunds: [] }
    circuits.set(shard, added)
    return added
  }
  const keep = (refunds: readonly Take[]): void => {
    if (refundsQueued === MAX_REFUNDS) {
      dropped()
      return
    }
    const key = refunds[0] as Take
    const circuit = circuitOf(key) ?? addCircuit(shardOf(key))
    circuit.refunds.push(refunds)
    refundsQueued++
  }
  const afterFailure = async (error: unknown, queue: () => void): Promise<void> => {
    const answer = error instanceof StoreError ? await error.late : undefined
    if (isUnsent(error)) queue()
    else if (answer === undefined) dropped()
  }
  const sendRefund = (refunds: readonly Take[]): void => {
    // Not sent again at once: the store may reject it at once, too.
    promised(() => store.take(refunds)).catch((error: unknown) => afterFailure(error, () => keep(refunds)))
  }
  const sendOrKeep = (refunds: readonly Take[]): void => {
    if (circuitOf(refunds[0] as Take) === undefined) sendRefund(refunds)
    else keep(refunds)
  }

  const answered = (circuit: Circuit): void => {
    circuits.delete(circuit.shard)
    refundsQueued -= circuit.refunds.length
    for (const each of circuit.refunds) sendRefund(each)
    if (isOpen(circuit)) log.recovered()
  }
  const failed = (circuit: Circuit, error: StoreError, isProbe: boolean): void => {
    circuit.failures++
    circuit.error = error
    if (isProbe) circuit.failedProbes++
    // Of calls that were under way together, the first that fails opens the circuit.
    if (!isProbe && circuit.failures !== FAILURE_THRESHOLD) return
    circuit.openUntilMs = now() + Math.min(FIRST_OPEN_MS * 2 ** circuit.failedProbes, LONGEST_OPEN_MS)
  }

  const ended: OnEnd<Attempt | undefined> = ({ key, logger }, attempt, error) => {
    const circuit = attempt?.circuit
    if (attempt?.isProbe) attempt.circuit.probeUntilMs = 0
    const current = circuit === undefined ? circuitOf(key) : circuits.get(circuit.shard)
    if (error === undefined) return current && answered(current)
    // An invalid call is a mistake of the program, not a failure of the store.
    if (error instanceof QuotaError) return
    // It says nothing about other calls: one that waits for a lock fails also while no commit ends.
    if (!error.healthy) failed(current ?? addCircuit(circuit?.shard ?? shardOf(key)), error, attempt?.isProbe === true)
    log.failed(error, key.policy, logger, circuit?.failedProbes)
  }

  return {
    call(call) {
      const circuit = circuitOf(call.key)
      if (circuit === undefined) return call.start(undefined, ended)
      const isProbe = isOpen(circuit)
      if (isProbe && now() < Math.max(circuit.openUntilMs, circuit.probeUntilMs)) {
        log.skipped()
        const message = `The circuit is open: the store has failed ${circuit.failures} times in a row, and is asked again later.`
        return call.fallBack(new StoreError(message, circuit.error, { reason: 'open' }))
      }
      // Workers stop a request whose client has left: its probe then never ends.
      if (isProbe) circuit.probeUntilMs = now() + LONGEST_PROBE * call.deadline.spanMs
      return call.start({ circuit, isProbe }, ended)
    },
    sendRefund,
    refundFailed: (refunds, error) => void afterFailure(error, () => sendOrKeep(refunds)),
    get health() {
      const open = [...circuits.values()].filter(isOpen)
      const isAnyOpen = open.some(({ openUntilMs }) => now() < openUntilMs)
      const circuit: StoreHealth['circuit'] = isAnyOpen ? 'open' : open.length > 0 ? 'half-open' : 'closed'
      return { circuit, refundsQueued, refundsDropped }
    },
  }
}

const isOpen = (circuit: Circuit | undefined): circuit is Circuit =>
  circuit !== undefined && circuit.failures >= FAILURE_THRESHOLD

/** The breaker of a store: one for all limiters that use it. */
export const breakerOf: (store: Store) => Breaker = oncePer('breakers', (store) => breaker(store))

/** Returns the health of a store, judged by its answers to this process, such as for a health check. */
export function storeHealth(store: Store): StoreHealth {
  checkIsStore('the argument of storeHealth', store)
  return breakerOf(store).health
}
