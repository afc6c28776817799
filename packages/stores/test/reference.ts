import type {
  CompareAndSetDriver,
  ExpiringRow,
  StateRow,
  Transaction,
  TransactionalDriver,
  VersionedState,
} from '@spillway/stores'

// A database in this process: what a driver has to do, in the fewest lines. Its tables can be shared by several stores, as by
// processes.

/** The rows of a database, the locks that are held, and what has been done. */
export interface Table {
  readonly rows: Map<string, { readonly state: string; readonly expiresAt: number; readonly version: number }>
  readonly locks: Map<string, Promise<void>>
  writes: number
  tries: number
}

export const table = (): Table => ({ rows: new Map(), locks: new Map(), writes: 0, tries: 0 })

const now = (): number => Date.now() * 1000

/** Lets other calls run, as a round trip does. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const listed = ({ rows }: Table, from: string, to: string, most: number): readonly StateRow[] =>
  [...rows]
    .filter(([name]) => name >= from && name < to)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, most)
    .map(([name, { state }]) => ({ name, state }))

const writeTo = (table: Table, rows: readonly ExpiringRow[]): void => {
  for (const { name, state, expiresAt } of rows) {
    const { version } = table.rows.get(name) ?? { version: 0 }
    table.rows.set(name, { state, expiresAt, version: version + 1 })
    table.writes++
  }
}

const common = (table: Table) => ({
  kind: 'the table',
  client: table,
  delete: (names: readonly string[]) => names.filter((name) => table.rows.delete(name)).length,
  list: (from: string, to: string, most: number) => listed(table, from, to, most),
})

/** A database that locks rows, also those that do not exist. */
export function lockingDriver(table: Table): TransactionalDriver {
  return {
    ...common(table),
    async transaction(run) {
      const held: (() => void)[] = []
      let written: readonly ExpiringRow[] = []
      const lock = async (name: string): Promise<void> => {
        while (table.locks.has(name)) await table.locks.get(name)
        table.locks.set(
          name,
          new Promise((resolve) => {
            held.push(() => {
              table.locks.delete(name)
              resolve()
            })
          }),
        )
      }
      const transaction: Transaction = {
        async lock(names) {
          for (const name of names) await lock(name)
          await turn()
          return names.flatMap((name) => {
            const row = table.rows.get(name)
            return row === undefined ? [] : [{ name, state: row.state }]
          })
        },
        now,
        write: (rows) => {
          written = rows
        },
      }
      table.tries++
      try {
        await run(transaction)
        writeTo(table, written)
      } finally {
        for (const release of held) release()
      }
    },
  }
}

/** The same for a synchronous client: nothing can come between. */
export const synchronousDriver = (table: Table): TransactionalDriver => ({
  ...common(table),
  transaction: (run) =>
    run({
      lock: (names) =>
        names.flatMap((name) => {
          const row = table.rows.get(name)
          return row === undefined ? [] : [{ name, state: row.state }]
        }),
      now,
      write: (rows) => writeTo(table, rows),
    }),
})

/** A database that compares versions. */
export const versionedDriver = (table: Table): CompareAndSetDriver<number> => ({
  ...common(table),
  now,
  async get(name): Promise<VersionedState<number> | undefined> {
    await turn()
    return table.rows.get(name)
  },
  async compareAndSet(name, state, version, expiresAt) {
    await turn()
    table.tries++
    if (table.rows.get(name)?.version !== version) return false
    writeTo(table, [{ name, state, expiresAt }])
    return true
  },
})
