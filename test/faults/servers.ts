import { execFileSync } from 'node:child_process'
import type { Store } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import { type RedisClient, redisStore } from '@spillway/redis'
import { Redis as Client, Cluster } from 'ioredis'
import pg from 'pg'
import { startPostgres } from '../services/postgres.ts'
import { startProxy, type TcpProxy } from '../services/proxy.ts'
import { startRedis } from '../services/redis.ts'
import { startRedisCluster } from '../services/redis-cluster.ts'

/** The faults of a server. */
export const faults = [
  'killed',
  'frozen',
  'slow by a second',
  'connections reset',
  'read-only',
  'out of memory',
  'out of connections',
  'restarted empty',
  'failover',
] as const
export type Fault = (typeof faults)[number]

/** The start and end of a fault, and whether the server loses its states. */
export interface Trouble {
  readonly begin: () => unknown
  readonly end: () => unknown
  readonly forgets?: true
  /** Whether the fault ends on its own. */
  readonly passes?: true
}

/** A server, its store, and its possible faults. */
export interface Subject {
  readonly store: Store
  readonly troubles: Readonly<Partial<Record<Fault, Trouble>>>
  /** Changes when a replica is promoted, which a busy machine may cause by itself: what it had not received is lost. */
  promotions?(): Promise<number>
  stop(): Promise<unknown>
}

const weather = (
  proxies: readonly TcpProxy[],
): Pick<Record<Fault, Trouble>, 'slow by a second' | 'connections reset'> => {
  const set = (each: Parameters<TcpProxy['set']>[0]) => () => {
    for (const proxy of proxies) proxy.set(each)
  }
  return {
    'slow by a second': { begin: set('slow'), end: set('fair') },
    'connections reset': { begin: set('reset'), end: set('fair') },
  }
}

/** Faults that an administrator of Redis servers can cause. */
function administered(
  admins: readonly Client[],
): Pick<Record<Fault, Trouble>, 'read-only' | 'out of memory' | 'out of connections'> {
  const set = (name: string, value: string) => () =>
    Promise.all(admins.map((admin) => admin.config('SET', name, value)))
  const crowd = async (): Promise<void> => {
    await set('maxclients', '1')()
    for (const admin of admins) await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  }
  return {
    'read-only': { begin: set('min-replicas-to-write', '9'), end: set('min-replicas-to-write', '0') },
    'out of memory': { begin: set('maxmemory', '1'), end: set('maxmemory', '0') },
    'out of connections': { begin: crowd, end: set('maxclients', '10000') },
  }
}

const quiet = <T extends Client | Cluster>(client: T): T => client.on('error', () => {}) as T

async function redis(): Promise<Subject> {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  const admin = quiet(new Client({ port: server.port, retryStrategy: () => 20 }))
  const client = quiet(new Client({ port: proxy.port, retryStrategy: () => 20 }))
  const again = { begin: () => server.kill().then(server.start), end: () => {}, forgets: true, passes: true } as const
  return {
    store: redisStore(client),
    troubles: {
      killed: { begin: server.kill, end: server.start, forgets: true },
      frozen: { begin: () => server.signal('SIGSTOP'), end: () => server.signal('SIGCONT') },
      ...weather([proxy]),
      ...administered([admin]),
      'restarted empty': again,
    },
    async stop() {
      for (const each of [admin, client]) each.disconnect()
      await Promise.all([proxy.stop(), server.stop()])
    },
  }
}

async function cluster(): Promise<Subject> {
  const servers = await startRedisCluster({ replicated: true })
  const { nodes } = servers
  const proxies = await Promise.all(nodes.map(({ port }) => startProxy(port)))
  const natMap = Object.fromEntries(
    nodes.map(({ port }, i) => [`127.0.0.1:${port}`, { host: '127.0.0.1', port: proxies[i]?.port as number }]),
  )
  const client = new Cluster(Object.values(natMap), {
    natMap,
    clusterRetryStrategy: () => 20,
    retryDelayOnFailover: 20,
    retryDelayOnClusterDown: 20,
    slotsRefreshTimeout: 500,
  })
  quiet(client)
  const admins = nodes.map(({ port }) => quiet(new Client({ port, retryStrategy: () => 20 })))
  const each = (work: (node: (typeof nodes)[number]) => unknown) => () => Promise.all(nodes.map(work))
  const masters = nodes.slice(0, 3)
  return {
    store: redisStore(client as RedisClient),
    troubles: {
      frozen: { begin: each((node) => node.signal('SIGSTOP')), end: each((node) => node.signal('SIGCONT')) },
      ...weather(proxies),
      ...administered(admins),
      failover: {
        begin: () => masters[0]?.kill(),
        end: async () => {
          await servers.settled()
          await masters[0]?.start()
          await servers.settled()
        },
        forgets: true,
        passes: true,
      },
    },
    async promotions() {
      const infos = await Promise.all(admins.map((admin) => admin.call('CLUSTER', 'INFO') as Promise<string>))
      return Math.max(...infos.map((info) => Number(/cluster_current_epoch:(\d+)/.exec(info)?.[1])))
    },
    async stop() {
      client.disconnect()
      for (const admin of admins) admin.disconnect()
      await Promise.all([...proxies.map((proxy) => proxy.stop()), servers.stop()])
    },
  }
}

async function postgres(): Promise<Subject> {
  const server = await startPostgres()
  const proxy = await startProxy(`${server.config.host}/.s.PGSQL.5432`)
  const owner = new pg.Pool({ ...server.config, max: 1 })
  owner.on('error', () => {})
  const ask = (sql: string) => owner.query(sql)
  await ask('CREATE ROLE app LOGIN')
  await ask('GRANT CREATE ON SCHEMA public TO app')
  const pool = new pg.Pool({ host: '127.0.0.1', port: proxy.port, user: 'app', database: 'postgres', max: 8 })
  pool.on('error', () => {})
  const setting = (value: string) => async () => {
    await ask(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await ask('SELECT pg_reload_conf()')
  }
  const all = (): readonly number[] => processesOf(server.folder)
  const signal = (name: NodeJS.Signals) => () => {
    for (const pid of all()) process.kill(pid, name)
  }
  return {
    store: postgresStore(pool),
    troubles: {
      killed: { begin: server.kill, end: server.start },
      frozen: { begin: signal('SIGSTOP'), end: signal('SIGCONT') },
      ...weather([proxy]),
      'read-only': { begin: setting('on'), end: setting('off') },
      'out of connections': {
        begin: async () => {
          await ask('ALTER ROLE app CONNECTION LIMIT 0')
          await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`)
        },
        end: () => ask('ALTER ROLE app CONNECTION LIMIT -1'),
      },
      'restarted empty': {
        begin: async () => {
          await ask('TRUNCATE spillway')
          await server.kill()
          await server.start()
        },
        end: () => {},
        forgets: true,
        passes: true,
      },
    },
    async stop() {
      await Promise.all([pool.end(), owner.end()])
      await Promise.all([proxy.stop(), server.stop()])
    },
  }
}

/** The processes of the server whose files are in a folder. */
function processesOf(folder: string): readonly number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  const all = lines.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
  const [, root] = all.find(([, , , args]) => args?.includes(`-D ${folder}`)) ?? []
  return all.filter(([, pid, parent]) => pid === root || parent === root).map(([, pid]) => Number(pid))
}

export const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  Redis: redis,
  'Redis Cluster': cluster,
  PostgreSQL: postgres,
}
