import { type Outgoing, UPGRADED, whenAnswered, whenClosed } from '@spillway/core/http'
import { checkFunctions, hasMethod } from '@spillway/core/internal'
import { configOf, invalid, OPTIONS, type ShedderOptions } from './options.ts'
import type { Drop, Permit } from './permit.ts'
import type { Priority } from './queue/waiter.ts'
import { type CallOptions, checkCall, type Shedder, shedderOf } from './shedder.ts'

/** The options of `shed`: those of `shedder`, and what is read of a request. */
export interface ShedOptions<R> extends ShedderOptions {
  /**
   * The priority of a request: under overload, the lowest are dropped first.
   * @default `'default'` for all requests
   */
  readonly priority?: (request: R) => Priority
  /**
   * Requests of a priority are shared fairly between the keys that this returns, such as customers; undefined is a key, too.
   * @default none: all requests share one queue
   */
  readonly fairBy?: (request: R) => string | undefined
  /**
   * A shedder that this middleware shares with others, in place of the options of its own.
   * @default none: a shedder with these options
   */
  readonly shedder?: Shedder
}

/** What an adapter needs: who decides, and about what. */
export interface HttpShedder<R> {
  readonly shedder: Shedder
  callOf(request: R): Omit<CallOptions, 'signal'>
}

export function httpShedder<R>(options: ShedOptions<R>): HttpShedder<R> {
  const config = configOf('shed', options as ShedderOptions, ['priority', 'fairBy', 'shedder'])
  const { priority, fairBy, shedder = shedderOf(config) } = options
  checkFunctions(options, ['priority', 'fairBy'])
  if (!hasMethod(shedder, 'enter')) throw invalid('shedder must be made by shedder({ … })', shedder)
  const own = OPTIONS.find((name) => options[name] !== undefined)
  if (options.shedder && own)
    throw invalid(
      `${own} is an option of the shedder: write shedder({ ${own}: … }), and shed({ shedder })`,
      options[own],
    )
  return {
    shedder,
    callOf: (request) => {
      const key = fairBy?.(request)
      const call = { priority: priority?.(request) ?? 'default', ...(key !== undefined && { key }) }
      checkCall(call)
      return call
    },
  }
}

/**
 * Decides about the request of a Node response, at once or later. A client that disconnects while its request waits leaves the
 * queue, and then nothing is called. The permit ends when the response is over.
 */
export function enterWith(
  shedder: Shedder,
  call: Omit<CallOptions, 'signal'>,
  response: Outgoing,
  decided: (decision: Permit | Drop) => void,
): Promise<void> | undefined {
  const follow = (decision: Permit | Drop): void => {
    if (decision.allowed) endWith(decision, response)
    decided(decision)
  }
  const { decision, later } = enter(shedder, call, (leave) => whenClosed(response, leave))
  if (decision) follow(decision)
  // By a promise: it is the turn of another request now, whose context must not become that of this one.
  return later?.then(follow)
}

/** The decision, or a promise of it, which never settles if the client leaves. */
export function enter(
  shedder: Shedder,
  call: Omit<CallOptions, 'signal'>,
  whenLeft: (leave: () => void) => () => void,
): { readonly decision?: Permit | Drop; readonly later?: Promise<Permit | Drop> } {
  let decision: Permit | Drop | undefined
  let resolve = (decided: Permit | Drop): void => {
    decision = decided
  }
  const leave = shedder.enter(call, (decided) => resolve(decided))
  if (decision) return { decision }
  const later = new Promise<Permit | Drop>((whenDecided) => {
    resolve = (decided) => {
      stop()
      whenDecided(decided)
    }
  })
  const stop = whenLeft(leave)
  return { later }
}

/** Ends a permit when a response is over. */
function endWith(permit: Permit, response: Outgoing): void {
  whenAnswered(response, (status) => endBy(permit, isSent(response) ? status : undefined))
}

/** Ends a permit by the status of the answer; undefined if its client did not wait for it. */
export function endBy(permit: Permit, status: number | undefined): void {
  // The connection of an upgrade may last for days.
  if (status === undefined || status === UPGRADED) permit.abort()
  else if (status >= 500) permit.fail()
  else permit.succeed()
}

interface Writable {
  readonly writableFinished?: boolean
  readonly writableEnded?: boolean
}

/** Whether all of a response that is over has been sent: its client may have left before. */
function isSent(response: Outgoing): boolean {
  const { writableFinished, writableEnded } = response as Writable
  return writableFinished ?? (response.stream as Writable | undefined)?.writableFinished ?? writableEnded ?? true
}
