import type { PgClient, PgQuery } from '@spillway/postgres'
import { arrivalAt, reportLost, type Wire } from '../network.ts'
import { type PostgresServer, ServerError } from './server.ts'
import { type Result, type Statement, statementOf } from './statement.ts'

/** What a connection connects. */
export interface Ends extends Wire {
  readonly server: PostgresServer
}

/** What a connection reports to its pool. */
export interface PoolOfConnection {
  /** It has ended, and cannot be used any more. */
  ended(connection: Connection): void
  /** It is not used for now. */
  free(connection: Connection): void
}

interface Sent {
  readonly statement: Statement
  readonly resolve: (result: { readonly rows: readonly unknown[] }) => void
  readonly reject: (error: Error) => void
}

/** How often a message goes there and back until a connection is open: TCP, the start, and the password. */
const ROUND_TRIPS = 3

/** The option `connectionTimeoutMillis` of the pool: without it, a connection that goes silent while it opens stays for ever. */
const OPENS_IN_MS = 2_000

/** After how long TCP gives up what the other end does not acknowledge, in microseconds: `net.ipv4.tcp_retries2` is 15. */
export const GIVEN_UP_IN = 925_000_000

/**
 * A pooled connection of `pg`: one statement at a time, the others wait. If the network breaks it, the statement under way
 * fails, whether it has been executed or not; if the process closes it, the server executes what was sent.
 */
export class Connection implements PgClient {
  /** Whether messages vanish without an error, as if the other end had lost its power. */
  isSilent = false
  readonly #ends: Ends
  readonly #pool: PoolOfConnection
  readonly #listeners = new Set<(error: Error) => void>()
  /** Whether the server has ended the session, which the process does not know yet. */
  #isTerminated = false
  #isOpen = false
  #isCut = false
  #hasEnded = false
  #onOpened: (error?: Error) => void = () => {}
  #lastRequest = 0
  #lastReply = 0
  readonly #queue: Sent[] = []
  #underWay: Sent | undefined

  constructor(ends: Ends, pool: PoolOfConnection) {
    this.#ends = ends
    this.#pool = pool
  }

  open(onOpened: (error?: Error) => void): void {
    this.#onOpened = onOpened
    setTimeout(() => {
      if (!this.#isOpen) this.#break(new Error('Connection terminated due to connection timeout'))
    }, OPENS_IN_MS)
    this.#shakeHands(ROUND_TRIPS)
  }
  #shakeHands(left: number): void {
    if (left > 0) {
      const again = (): void => this.#shakeHands(left - 1)
      this.#toServer(() => this.#toProcess(again, ignore), ignore)
      return
    }
    this.#isOpen = true
    this.#onOpened()
  }

  query(query: PgQuery): Promise<{ readonly rows: readonly unknown[] }> {
    const statement = statementOf(query)
    this.#ends.onSent(statement.intents)
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) return reject(new Error('Client has encountered a connection error and is not queryable'))
      this.#queue.push({ statement, resolve, reject })
      this.#sendNext()
    })
  }
  release(destroy = false): void {
    if (destroy) this.#end(new Error('Connection terminated'))
    else if (!this.#hasEnded) this.#pool.free(this)
  }
  on(_event: 'error', listener: (error: Error) => void): void {
    this.#listeners.add(listener)
  }
  off(_event: 'error', listener: (error: Error) => void): void {
    this.#listeners.delete(listener)
  }

  /** Breaks the connection, which the process learns when its event loop polls. */
  cut(): void {
    if (this.#isCut) return
    this.#isCut = true
    this.#ends.host.receive(() => this.#break(new Error('Connection terminated unexpectedly')))
  }
  #break(error: Error): void {
    if (this.#hasEnded) return
    this.#end(error)
    if (!this.#isOpen) {
      this.#ends.onUnopened()
      this.#onOpened(error)
    }
    for (const listener of this.#listeners) listener(error)
  }
  /** Ends the session: a statement that arrives fails, and the process learns it a little later. */
  terminate(): void {
    this.#isTerminated = true
    this.#ends.world.at(arrivalAt(this.#ends, this.#lastReply), () => this.isSilent || this.cut())
  }
  #end(error: Error): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#ends.server.sessions.delete(this)
    for (const sent of [this.#underWay, ...this.#queue]) sent?.reject(error)
    this.#pool.ended(this)
  }

  #sendNext(): void {
    if (this.#underWay) return
    const sent = this.#queue.shift()
    this.#underWay = sent
    if (sent === undefined) return
    const { statement } = sent
    const neverRun = (): void => reportLost(this.#ends, statement.intents, 'never')
    const answer = (result: Result | ServerError): void => this.#answer(sent, result)
    this.#toServer(() => {
      if (this.#isTerminated) answer(new ServerError('57P01', 'FATAL'))
      else this.#ends.server.run(statement, answer)
    }, neverRun)
  }
  #answer(sent: Sent, result: Result | ServerError): void {
    const isError = result instanceof ServerError
    // The store may run it again: then it is executed, and no property counts it.
    if (isError) reportLost(this.#ends, sent.statement.intents, 'never')
    const settle = (): void => {
      this.#underWay = undefined
      if (isError) sent.reject(result)
      else sent.resolve(result)
      this.#sendNext()
    }
    this.#toProcess(settle, () => reportLost(this.#ends, isError ? [] : result.effects, 'unknown'))
  }

  #toServer(run: () => void, onLost: () => void): void {
    const { world, server } = this.#ends
    const arrive = (): void => {
      const isLost = this.#isCut || this.isSilent
      if (!isLost && world.now < server.frozenUntil) {
        world.at(server.frozenUntil, arrive)
        return
      }
      if (this.isSilent) world.at(world.now + GIVEN_UP_IN, () => this.cut())
      const isReset = !server.isUp
      server.sessions.add(this)
      if (isLost || isReset) onLost()
      else run()
      if (!isLost && isReset) this.cut()
    }
    this.#lastRequest = arrivalAt(this.#ends, this.#lastRequest)
    world.at(this.#lastRequest, arrive)
  }
  #toProcess(run: () => void, onLost: () => void): void {
    const { world, link, host } = this.#ends
    if (link.repliesToLose > 0) {
      link.repliesToLose--
      this.cut()
    }
    if (this.#isCut || this.isSilent) {
      onLost()
      return
    }
    this.#lastReply = arrivalAt(this.#ends, this.#lastReply)
    const poll = (): void => (this.#hasEnded ? onLost() : run())
    world.at(this.#lastReply, () => (this.#isCut ? onLost() : host.receive(poll, onLost)))
  }
}

const ignore = (): void => {}
