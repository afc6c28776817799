import { isOver, type NodeRequest, type NodeResponse, whenAbandoned, whenClosed } from '@spillway/core/http'
import { answerOf } from './answer.ts'
import { type Decision, endBy, enter, enterWith, httpShedder, type ShedOptions } from './http.ts'
import { answerNode } from './node-answer.ts'
import type { Shedder } from './shedder.ts'

export type { ShedOptions }

/** The part of an event of h3 1 that is read. Its types are not imported: h3 2 may be installed beside them. */
export interface NodeEvent {
  /** The request and the response of Node, or what stands for them. */
  readonly node: { readonly req: NodeRequest; readonly res: NodeResponse }
  /** The `Request`, where h3 is served without Node. */
  readonly web?: { readonly request?: Request }
  /** Whether the request has been answered. */
  readonly handled: boolean
  /** Set if its client has left. */
  _handled?: boolean | undefined
}

/** An event handler of h3 1, with the shedder that decides about its requests. */
export interface Shed<E> {
  (event: E): void | Promise<void>
  readonly __is_handler__: true
  /** Decides about the requests. */
  readonly shedder: Shedder
}

/**
 * Returns an event handler for h3 1, Nitro 2 and Nuxt that drops requests while too many are in flight: put it first. Throws a
 * `QuotaError` if an option is invalid. In TypeScript, name the event of h3 1: `app.use(shed<H3Event>())`.
 */
export function shed<E extends NodeEvent = NodeEvent>(options: ShedOptions<E> = {}): Shed<E> {
  const { shedder, callOf } = httpShedder(options)
  const handler = (event: E): void | Promise<void> => {
    const { node, web } = event
    if (isOver(node.res)) return
    const call = callOf(event)
    const decision = web?.request
      ? enter(shedder, call, (leave) => whenOver(event, leave))
      : enterWith(shedder, call, node.res)
    if (decision instanceof Promise) return decision.then((decided) => follow(decided, event))
    follow(decision, event)
  }
  return Object.assign(handler, { __is_handler__: true as const, shedder })
}

function follow(decision: Decision, event: NodeEvent): void {
  const { node, web } = event
  if (decision?.allowed) {
    if (web?.request) whenOver(event, () => endBy(decision, statusIn(node.res)))
  } else if (decision) answerNode(node.res, answerOf(decision))
  // h3 would call the next handler for a client that has left.
  else event._handled = true
}

/** Without a server of Node, the response ends, but sends no headers. */
const statusIn = (response: NodeResponse & { readonly writableEnded?: boolean }): number | undefined =>
  response.headersSent || response.writableEnded ? response.statusCode : undefined

/** Calls back once when the response is over, or the client of a `Request` has left. Returns how to stop that. */
function whenOver({ node, web }: NodeEvent, listener: () => void): () => void {
  const stops: (() => void)[] = []
  const stop = (): void => {
    for (const each of stops) each()
  }
  const over = (): void => {
    stop()
    listener()
  }
  stops.push(whenClosed(node.res, over))
  if (web?.request) stops.push(whenAbandoned(web.request, undefined, over))
  return stop
}
