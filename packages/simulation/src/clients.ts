import { type Store, withDenyCache, withLeases } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import type { Wire } from './network.ts'
import { Pool } from './postgres/pool.ts'
import { PostgresServer } from './postgres/server.ts'
import { clientOf as redisClientOf } from './redis/client.ts'
import { RedisServer } from './redis/server.ts'
import type { PostgresSetting, Setting } from './setting.ts'
import type { StateServer } from './state-server.ts'

/** A client of a process to a server. */
export interface Client {
  /** Breaks all connections. */
  cut(): void
  /** Silences all connections to Redis, until the client leaves them. */
  silence?(micros: number): void
  /** The pool of a client to PostgreSQL. */
  readonly pool?: Pool
  /** A new store on the client. */
  store(): Store
}

/** Makes the client of a process to a server. */
export function clientOf(server: StateServer, wire: Omit<Wire, 'server'>, setting: Setting): Client {
  if (server instanceof PostgresServer)
    return postgresClient({ ...wire, server }, setting, setting.postgres as PostgresSetting)
  if (server instanceof RedisServer) return redisClient({ ...wire, server }, setting)
  throw new Error(`no client for ${server.name}`)
}

const leaseOf = ({ lease = 0, isSlow }: Setting) => ({ requests: lease, maxLoss: isSlow ? '1000d' : '1s' }) as const

function redisClient(wire: Wire & { readonly server: RedisServer }, setting: Setting): Client {
  const { connections, resends, denyCache, coalesce } = setting
  const client = redisClientOf(connections, { ...wire, resends })
  const leases = setting.lease === undefined ? {} : { lease: leaseOf(setting) }
  const { cut, silence } = client
  return { cut, silence, store: () => redisStore(client, { denyCache, coalesce, ...leases }) }
}

function postgresClient(
  wire: Wire & { readonly server: PostgresServer },
  setting: Setting,
  { pool: max, deadlineMs }: PostgresSetting,
): Client {
  const pool = new Pool(wire, max)
  const { coalesce, denyCache, lease } = setting
  return {
    cut: () => pool.cut(),
    pool,
    store() {
      const remote = postgresStore(pool, { coalesce, deadline: `${deadlineMs}ms` })
      const store = withDenyCache(remote, { for: denyCache, scope: pool })
      return lease === undefined ? store : withLeases(store, leaseOf(setting))
    },
  }
}
