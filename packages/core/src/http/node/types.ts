import type { RequestDecision } from '../pipeline/verdict.ts'
import type { Closable, Outgoing } from '../requests/closed.ts'

/** The part of Node's requests (HTTP/1.1 and HTTP/2) that is used, with what frameworks add to it. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly stream?: Closable
  /** The response, which Express and engine.io add. */
  readonly res?: Closable | undefined
  /** The requested target, before mounts and rewriting. */
  readonly originalUrl?: string
  /** The prefix of the mounts, in `router` and Express. */
  readonly baseUrl?: string
  /** The parsed query, in polka, Express and below @fastify/middie. */
  readonly query?: Readonly<Record<string, unknown>>
  /** The client's address by the framework's own proxy settings, in Express and below @fastify/middie. */
  readonly ip?: string | undefined
  /** The `next` of `router` and Express. */
  readonly next?: unknown
  rateLimit?: RequestDecision | undefined
}

/** The part of Node's responses (HTTP/1.1 and HTTP/2) that is used. */
export interface NodeResponse extends Outgoing {
  statusCode: number
  getHeader(name: string): unknown
  setHeader(name: string, value: string): unknown
  appendHeader(name: string, value: string): unknown
  end(body?: string): unknown
}

/** Continues with the next handler, or with that of errors. */
export type NodeNext = (error?: unknown) => void
