import type { Signal } from '@spillway/core'
import { checkOptions, checkSignal, invalidOption } from '@spillway/core/internal'
import { type Flight, Gate } from './gate.ts'
import { AdaptiveLimit } from './limit/adaptive-limit.ts'
import { FixedLimit } from './limit/limit.ts'
import { type Config, configOf, type ShedderOptions } from './options.ts'
import { type Drop, dropOf, OverloadError, type Permit, permitOf } from './permit.ts'
import { Queue } from './queue/queue.ts'
import { Waits } from './queue/standing.ts'
import { type DropReason, type Priority, tierOf } from './queue/waiter.ts'
import { reporter } from './report.ts'

/** About a call. */
export interface CallOptions {
  /**
   * The lowest priorities are dropped first.
   * @default `'default'`
   */
  readonly priority?: Priority
  /**
   * Calls of a priority are shared fairly between keys, such as customers.
   * @default none: all calls without a key share what one key gets
   */
  readonly key?: string
  /**
   * Leaves the queue, if the call still waits.
   * @default none
   */
  readonly signal?: Signal
}

/** What a shedder knows. */
export interface ShedStats {
  /** How many calls may be in flight at once. */
  readonly limit: number
  readonly inFlight: number
  readonly queued: number
  /** Whether calls wait for so long that the newest are served first. */
  readonly overload: boolean
  /** How long its last turn kept the event loop busy, in ms: what has arrived in it has waited for so long. */
  readonly loopLagMs: number
  /** Decisions since the start. */
  readonly allowed: number
  readonly dropped: Readonly<Record<DropReason, number>>
}

/** Limits how many calls are in flight, and decides who waits and who is dropped. */
export interface Shedder {
  /**
   * Resolves with a permit, or with why the call is dropped. Rejects with the reason of the signal if it aborts while the call
   * waits.
   */
  acquire(call?: CallOptions): Promise<Permit | Drop>
  /**
   * Runs a function with a permit, which ends with it: a function that throws has failed, or is aborted if the signal is.
   * Rejects with an `OverloadError` if the call is dropped.
   */
  run<T>(work: () => T | PromiseLike<T>, call?: CallOptions): Promise<T>
  /** What it knows now. */
  stats(): ShedStats
  /**
   * For adapters: decides with a callback, at once if it can. Returns the function with which a call that waits leaves the queue;
   * then the callback is not called.
   */
  enter(call: Omit<CallOptions, 'signal'>, decided: (decision: Permit | Drop) => void): () => void
}

/**
 * Limits how many calls are in flight. Throws a `QuotaError` if an option is invalid.
 *
 * @example
 * const overload = shedder()
 * const rows = await overload.run(() => db.query('select 1'), { priority: 'critical' })
 */
export const shedder = (options: ShedderOptions = {}): Shedder => shedderOf(configOf('shedder', options))

export function shedderOf(config: Config): Shedder {
  const { limit, queue, targetMs, intervalMs, reserve, maxLagMs, retryAfterMs, onDecision, logger, clock } = config
  // No client knows which keys share queues.
  const salt = Math.floor(Math.random() * 2 ** 32)
  const gate = new Gate(
    typeof limit === 'number' ? new FixedLimit(limit) : new AdaptiveLimit(limit),
    new Queue(queue, new Waits(targetMs, intervalMs), salt),
    reserve,
    clock,
    // Without a queue, no call can wait for the next turn.
    queue === 0 ? Infinity : maxLagMs,
  )
  const reports = reporter(onDecision, logger)
  let allowed = 0
  const dropped = { 'queue-full': 0, 'concurrency-limit': 0, 'time-out': 0, priority: 0 }

  const enter: Shedder['enter'] = (call, decided) => {
    const tier = checkCall(call)
    const { priority = 'default', key } = call
    const arrivedAt = clock.now()
    return gate.enter(tier, key, (decision: Flight | DropReason) => {
      const reason = typeof decision === 'string' ? decision : undefined
      if (reason === undefined) allowed += 1
      else dropped[reason] += 1
      if (reports.isHeard) {
        const { limit, inFlight, queued } = gate
        const waitedMs = clock.now() - arrivedAt
        reports.report({ allowed: reason === undefined, reason, priority, waitedMs, limit, inFlight, queued })
      }
      decided(
        typeof decision === 'string' ? dropOf(decision, retryAfterMs * (0.5 + Math.random())) : permitOf(decision),
      )
    })
  }

  const acquire: Shedder['acquire'] = async (call = {}) => {
    checkOptions('acquire', call, ['priority', 'key', 'signal'])
    const signal = checkSignal(call.signal)
    if (signal?.aborted) throw signal.reason
    return await new Promise((resolve, reject) => {
      let stop: (() => void) | undefined
      let isDecided = false
      const leave = enter(call, (decision) => {
        isDecided = true
        stop?.()
        resolve(decision)
      })
      if (signal === undefined || isDecided) return
      const abort = (): void => {
        leave()
        reject(signal.reason)
      }
      signal.addEventListener('abort', abort)
      stop = () => signal.removeEventListener('abort', abort)
    })
  }

  return {
    enter,
    acquire,
    async run(work, call = {}) {
      if (typeof work !== 'function') throw invalidOption('run takes a function', work)
      const permit = await acquire(call)
      if (!permit.allowed) throw new OverloadError(permit)
      try {
        const result = await work()
        permit.succeed()
        return result
      } catch (thrown) {
        if (call.signal?.aborted) permit.abort()
        else permit.fail()
        throw thrown
      }
    },
    stats: () => ({
      limit: gate.limit,
      inFlight: gate.inFlight,
      queued: gate.queued,
      overload: gate.isOverload,
      loopLagMs: gate.loopLagMs,
      allowed,
      dropped: { ...dropped },
    }),
  }
}

/** Checks what is known about a call. Returns the index of its priority. */
function checkCall({ priority = 'default', key }: Omit<CallOptions, 'signal'>): number {
  const tier = tierOf(priority)
  if (key !== undefined && typeof key !== 'string') throw invalidOption('the key of a call must be a text', key)
  return tier
}
