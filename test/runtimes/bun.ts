import type { Database } from '@spillway/postgres'
import type { IoredisClient } from '@spillway/redis'

// The clients that Bun has, which `npm run test:runtimes` tests in Bun.

/** Their names, by the store that takes them. */
export const bunClients = { redisStore: "Bun's `RedisClient`", postgresStore: '`Bun.SQL`' } as const

interface BunSql {
  unsafe(text: string, values?: unknown[]): Promise<readonly unknown[]>
  close(): Promise<void>
}

interface Bun {
  readonly RedisClient: new (
    url: string,
  ) => IoredisClient & { close(): void; send(command: string, rest: string[]): Promise<unknown> }
  readonly SQL: new (options: object) => BunSql
}

/** Undefined in other runtimes. */
export const bun = (globalThis as { Bun?: Bun }).Bun

/** The adapter that docs/guides/stores.md writes out. */
export function databaseOf(sql: BunSql): Database {
  // Its errors have PostgreSQL's code in `errno`.
  const coded = (error: Error & { errno?: string }): never => {
    throw Object.assign(error, { code: error.errno })
  }
  return {
    query: async (text: string, values: unknown[]) => ({ rows: await sql.unsafe(text, values).catch(coded) }),
    exec: (text: string) => sql.unsafe(text).catch(coded),
  }
}
