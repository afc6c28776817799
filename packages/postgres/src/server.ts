import type { Database } from './clients.ts'

/** What a pool of `pg` says of its server. */
interface Described {
  readonly options?: object
  readonly ended?: boolean
  readonly Client?: unknown
}

/** What `pg` makes of the options of a pool, its defaults and the environment. */
type Client = new (
  options: object,
) => { readonly host: string; readonly port: number | string; readonly database: unknown }

/**
 * The server and the database of a pool, as its client reads their options: two pools with the same have the same states. Undefined
 * if the pool is closed, or does not say.
 */
export function serverOf(database: Database): string | undefined {
  const { options, ended, Client } = database as Described
  if (ended === true || typeof options !== 'object' || typeof Client !== 'function') return undefined
  // With a connection it makes no socket.
  const { host, port, database: name } = new (Client as Client)({ ...options, connection: {} })
  return JSON.stringify([host.replace(/^(?:127\.0\.0\.1|::1)$/, 'localhost').toLowerCase(), `${port}`, name])
}
