import type { State, StateKey } from '@spillway/core'

/** The methods that are used of a Durable Object's SQLite database. */
export interface Sql {
  exec<T>(query: string, ...bindings: (string | number)[]): { toArray(): T[] }
}

/** The states of a Durable Object, in its database. Each has its expiry, in milliseconds since 1970. */
export class States {
  readonly #sql: Sql
  // The first write creates the table: an object that only peeks or denies uses no storage.
  #tableIsThere: boolean

  constructor(sql: Sql) {
    this.#sql = sql
    this.#tableIsThere = sql.exec("SELECT name FROM sqlite_master WHERE name = 'states'").toArray().length > 0
  }

  read(key: StateKey): State | undefined {
    if (!this.#tableIsThere) return undefined
    const [row] = this.#sql
      .exec<{ state: number | string }>('SELECT state FROM states WHERE name = ?', nameOf(key))
      .toArray()
    return typeof row?.state === 'string' ? (JSON.parse(row.state) as State) : row?.state
  }

  write(key: StateKey, state: State, expires: number): void {
    if (!this.#tableIsThere) {
      this.#sql.exec('CREATE TABLE states (name TEXT PRIMARY KEY, state NOT NULL, expires NOT NULL) WITHOUT ROWID')
      this.#tableIsThere = true
    }
    this.#sql.exec(
      'INSERT INTO states VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET state = ?2, expires = ?3',
      nameOf(key),
      typeof state === 'number' ? state : JSON.stringify(state),
      expires,
    )
  }

  /** Reports whether a state was written since the database was empty. */
  get tableIsThere(): boolean {
    return this.#tableIsThere
  }

  /** Reports whether there was a state. */
  delete(key: StateKey): boolean {
    if (!this.#tableIsThere) return false
    return this.#sql.exec('DELETE FROM states WHERE name = ? RETURNING name', nameOf(key)).toArray().length > 0
  }

  /** Deletes all states of a policy, and returns how many there were. */
  deleteAll(policy: string): number {
    if (!this.#tableIsThere) return 0
    const start = JSON.stringify([policy]).slice(0, -1)
    // A comma follows the policy, and the hyphen is the next character after the comma.
    const deleted = this.#sql.exec(
      'DELETE FROM states WHERE name >= ?1 AND name < ?2 RETURNING 1',
      `${start},`,
      `${start}-`,
    )
    return deleted.toArray().length
  }

  /** Deletes expired states. Returns the next expiry, or undefined if no state is left. */
  sweep(now: number): number | undefined {
    if (!this.#tableIsThere) return undefined
    this.#sql.exec('DELETE FROM states WHERE expires <= ?', now)
    const [row] = this.#sql.exec<{ next: number | null }>('SELECT min(expires) AS next FROM states').toArray()
    return row?.next ?? undefined
  }
}

// JSON is unique for each pair, and escapes lone surrogates, which the database would replace.
const nameOf = ({ policy, key }: StateKey): string => JSON.stringify([policy, key])
