import { type Outgoing, UPGRADED, whenAnswered, whenClosed } from '@spillway/core/http'
import { checkFunctions, hasMethod, invalidOption } from '@spillway/core/internal'
import { configOf, OPTIONS, type ShedderOptions } from './options.ts'
import type { Drop, Permit } from './permit.ts'
import type { Priority } from './queue/waiter.ts'
import { type CallOptions, type Shedder, shedderOf } from './shedder.ts'

/** The options of `shed`: those of `shedder`, and what is read of a request. */
export interface ShedOptions<R> extends ShedderOptions, RequestOptions<R> {}

/** What `shed` reads of a request, and who decides about it. */
export interface RequestOptions<R> {
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
  if (!hasMethod(shedder, 'enter')) throw invalidOption('shedder must be made by shedder({ … })', shedder)
  const own = OPTIONS.find((name) => options[name] !== undefined)
  if (options.shedder && own)
    throw invalidOption(
      `${own} is an option of the shedder: write shedder({ ${own}: … }), and shed({ shedder })`,
      options[own],
    )
  return {
    shedder,
    callOf: (request) => {
      const key = fairBy?.(request)
      return { priority: priority?.(request) ?? 'default', ...(key !== undefined && { key }) }
    },
  }
}

/** A decision; undefined if the client disconnected while its request waited: there is nothing to answer. */
export type Decision = Permit | Drop | undefined

/**
 * Decides about the request of a Node response, at once or later. A client that disconnects while its request waits leaves the
 * queue. The permit ends when the response is over.
 */
export function enterWith(
  shedder: Shedder,
  call: Omit<CallOptions, 'signal'>,
  response: Outgoing,
): Decision | Promise<Decision> {
  const entered = enter(shedder, call, (leave) => whenClosed(response, leave))
  return entered instanceof Promise
    ? entered.then((decision) => endingWith(decision, response))
    : endingWith(entered, response)
}

function endingWith(decision: Decision, response: Outgoing): Decision {
  if (decision?.allowed) endWith(decision, response)
  return decision
}

/**
 * Decides at once or later. If it is later, by a promise: it is the turn of another request then, whose context must not become
 * that of this one. `whenLeft` calls back when the client disconnects, and returns how to stop that.
 */
export function enter(
  shedder: Shedder,
  call: Omit<CallOptions, 'signal'>,
  whenLeft: (leave: () => void) => () => void,
): Decision | Promise<Decision> {
  let decision: Decision
  let resolve = (decided: Permit | Drop): void => {
    decision = decided
  }
  const leave = shedder.enter(call, (decided) => resolve(decided))
  if (decision) return decision
  return new Promise((settle) => {
    let stop: (() => void) | undefined
    resolve = (decided) => {
      stop?.()
      settle(decided)
    }
    stop = whenLeft(() => {
      leave()
      settle(undefined)
    })
  })
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
