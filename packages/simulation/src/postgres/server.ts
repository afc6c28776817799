import type { Micros } from '@spillway/core'
import { StateServer } from '../state-server.ts'
import type { Result, Rows, Statement } from './statement.ts'

/** An error that the server answers, as `pg` gives it to its callers. */
export class ServerError extends Error {
  readonly code: string
  readonly severity: 'ERROR' | 'FATAL'

  constructor(code: string, severity: 'ERROR' | 'FATAL' = 'ERROR') {
    super(`simulated error ${code}`)
    this.code = code
    this.severity = severity
  }
}

const MINUTE = 60_000_000

/** What a server tells that it ends the session. */
interface Session {
  terminate(): void
}

/** A statement under way. */
interface UnderWay {
  readonly statement: Statement
  /** The server's time when it arrived. */
  readonly sentAt: Micros
  /** Until when it waits for locks, in microseconds since the start. */
  readonly waitsUntil: number
  readonly epoch: number
  readonly answer: (result: Result | ServerError) => void
}

/** A PostgreSQL server: a statement is a transaction, and its rows are on disk when it has answered. */
export class PostgresServer extends StateServer {
  /** What has a session. */
  readonly sessions: Set<Session> = new Set()
  readOnlyUntil = 0
  #isMigrated = false
  /** How often all sessions have ended. */
  #epoch = 0
  /** When other transactions release their locks, by the names of the rows. */
  readonly #locks = new Map<string, number>()
  /** The errors of the next statements, until a time. */
  #errors: { readonly code: string; readonly until: number }[] = []

  nameOf(key: string, policy = 'default'): string {
    return `${policy}/${key}`
  }
  protected override isKept(): boolean {
    return true
  }
  protected override expiryOf(emptyAt: Micros, now: Micros, present?: Micros): Micros {
    const least = emptyAt + MINUTE
    if (present !== undefined && present >= least) return present
    return least + Math.min(Math.max(4 * (emptyAt - now), 10 * MINUTE), 1440 * MINUTE)
  }
  sweep(most: number): number {
    return this.sweepStates(most, (name) => (this.#locks.get(name) ?? 0) > this.world.now)
  }

  /** Runs a statement, and answers with its result, or with an error after which nothing has changed. */
  run(statement: Statement, answer: UnderWay['answer']): void {
    this.commands++
    if (statement.migrates) this.#isMigrated = true
    const waitsUntil = this.world.now + statement.lockTimeoutMs * 1000
    this.#continue({ statement, sentAt: this.now(), waitsUntil, epoch: this.#epoch, answer })
  }
  #continue(each: UnderWay): void {
    const { statement, sentAt, waitsUntil, answer } = each
    const error = this.#errorOf(each)
    const lockedUntil = error ? 0 : this.#lockedUntil(statement, sentAt)
    if (error) answer(error)
    else if (lockedUntil <= this.world.now) answer(statement.run(this, sentAt))
    else if (lockedUntil < waitsUntil) this.world.at(lockedUntil, () => this.#continue(each))
    else this.world.at(waitsUntil, () => answer(new ServerError('55P03')))
  }
  #errorOf({ statement, sentAt, epoch }: UnderWay): ServerError | undefined {
    const { needs } = statement
    if (epoch !== this.#epoch) return new ServerError('57P01', 'FATAL')
    if (needs === 'nothing') return undefined
    if (!this.#isMigrated) return new ServerError('42883')
    const isReadOnly = this.world.now < this.readOnlyUntil
    if (isReadOnly && (statement.locks || this.#writesOf(statement, sentAt).length > 0)) return new ServerError('25006')
    this.#errors = this.#errors.filter(({ until }) => until > this.world.now)
    const next = this.#errors.shift()
    return next && new ServerError(next.code)
  }
  #lockedUntil(statement: Statement, sentAt: Micros): number {
    if (this.#locks.size === 0) return 0
    return Math.max(...this.#writesOf(statement, sentAt).map((name) => this.#locks.get(name) ?? 0))
  }
  /** The names of the rows that a statement would write now. */
  #writesOf(statement: Statement, sentAt: Micros): readonly string[] {
    const written: string[] = []
    const note = (name: string): void => void written.push(name)
    // A sweep skips locked rows.
    const others = { now: () => this.now(), names: () => this.names(), sweep: () => 0 }
    const rows: Rows = { ...others, read: (name) => this.read(name), write: note, delete: note }
    statement.run(rows, sentAt)
    return written
  }

  // Faults.

  override kill(): void {
    super.kill()
    this.#endSessions()
  }
  override failOver(lag: number): void {
    super.failOver(lag)
    this.#endSessions()
  }
  #endSessions(): void {
    this.#epoch++
    for (const session of this.sessions) session.terminate()
  }
  /** Another transaction locks the rows that there are, until a time. */
  lockRows(until: number): void {
    for (const name of this.names()) this.#locks.set(name, until)
  }
  /** Fails the next statements before a time. */
  failNext(code: string, count: number, until: number): void {
    for (let i = 0; i < count; i++) this.#errors.push({ code, until })
  }
}
