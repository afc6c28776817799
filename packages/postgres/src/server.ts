import type { Database } from './clients.ts'

/** What a pool of `pg` says of its server. */
interface Described {
  readonly options?: {
    readonly connectionString?: string
    readonly host?: string
    readonly port?: number | string
    readonly database?: string
    readonly user?: string
  }
  readonly ended?: boolean
  readonly Client?: unknown
}

/**
 * The server and the database of a pool, as its options say: two pools with the same have the same states. Undefined if the pool
 * is closed, or does not say.
 */
export function serverOf(database: Database): string | undefined {
  const { options, ended, Client } = database as Described
  if (ended === true || typeof options !== 'object' || typeof Client !== 'function') return undefined
  const { connectionString } = options
  const given = connectionString === undefined ? options : { ...options, ...described(connectionString) }
  const { env } = process
  const host = given.host ?? env['PGHOST'] ?? 'localhost'
  const user = given.user ?? env['PGUSER'] ?? env['USER']
  const named = given.database ?? env['PGDATABASE'] ?? user
  return JSON.stringify([
    host.replace(/^(?:127\.0\.0\.1|::1)$/, 'localhost').toLowerCase(),
    `${given.port ?? env['PGPORT'] ?? 5432}`,
    named,
  ])
}

/** What a connection string says, as far as it is a URL; of others the text is compared. */
function described(text: string): NonNullable<Described['options']> {
  if (!URL.canParse(text)) return { host: text }
  const { hostname, port, pathname, username, searchParams } = new URL(text)
  const host = hostname || searchParams.get('host')
  const name = pathname.slice(1)
  return {
    ...(host && { host }),
    ...(port && { port }),
    ...(name && { database: name }),
    ...(username && { user: username }),
  }
}
