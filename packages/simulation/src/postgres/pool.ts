import type { PgClient, PgPool } from '@spillway/postgres'
import { Connection, type Ends, type PoolOfConnection } from './connection.ts'

interface Waiting {
  readonly resolve: (client: PgClient) => void
  readonly reject: (error: Error) => void
}

/** A `Pool` of `pg`: it opens connections when they are needed, and at most so many. */
export class Pool implements PgPool, PoolOfConnection {
  readonly #ends: Ends
  readonly #max: number
  readonly #all = new Set<Connection>()
  readonly #idle: Connection[] = []
  readonly #waiting: Waiting[] = []

  constructor(ends: Ends, max: number) {
    this.#ends = ends
    this.#max = max
  }

  get totalCount(): number {
    return this.#all.size
  }
  get idleCount(): number {
    return this.#idle.length
  }
  get waitingCount(): number {
    return this.#waiting.length
  }

  connect(): Promise<PgClient> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#serve()
    })
  }
  free(connection: Connection): void {
    this.#idle.push(connection)
    this.#serve()
  }
  ended(connection: Connection): void {
    this.#all.delete(connection)
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    this.#serve()
  }

  /** Gives each caller an idle connection, or opens one. One that is opened is for the caller it was opened for. */
  #serve(): void {
    while (this.#waiting.length > 0 && (this.#idle.length > 0 || this.#all.size < this.#max)) {
      const { resolve, reject } = this.#waiting.shift() as Waiting
      const idle = this.#idle.pop()
      if (idle) resolve(idle)
      else this.#open(resolve, reject)
    }
  }
  #open(resolve: Waiting['resolve'], reject: Waiting['reject']): void {
    const connection = new Connection(this.#ends, this)
    this.#all.add(connection)
    connection.open((error) => (error ? reject(error) : resolve(connection)))
  }

  // Faults.

  /** Breaks all connections. */
  cut(): void {
    for (const connection of this.#all) connection.cut()
  }
  /** The server ends all sessions. */
  terminate(): void {
    for (const connection of this.#all) connection.terminate()
  }
  /** Makes messages of some connections vanish. */
  silence(count: number): void {
    for (const connection of [...this.#all].slice(0, count)) connection.isSilent = true
  }
  /** Holds connections for a time, as other parts of the process do. */
  starve(count: number, micros: number): void {
    const { host, world } = this.#ends
    const end = world.now + micros
    const hold = (client: PgClient): void => world.at(end, () => host.receive(() => client.release()))
    host.receive(() => {
      for (let i = 0; i < count; i++) void this.connect().then(hold, () => {})
    })
  }
}
