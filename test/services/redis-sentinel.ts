import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis as Client } from 'ioredis'
import { type Redis, startRedis } from './redis.ts'
import { until } from './redis-cluster.ts'

/** A master and its replicas with one Sentinel, which alone is the quorum for a failover. */
export interface RedisSentinel {
  readonly name: string
  readonly sentinel: Redis
  readonly master: Redis
  /** The replica that a failover promotes. */
  readonly replica: Redis
  /** A second replica, if it was asked for. */
  readonly others: readonly Redis[]
  /** Makes the replica the master, and resolves once Sentinel reports it. If the old one runs, it is a master for ten seconds. */
  failover(): Promise<void>
  stop(): Promise<void>
}

const NAME = 'spillway'

/** Starts them with one replica, or with two, of which none is promoted. */
export async function startRedisSentinel({ replicas = 1 }: { replicas?: 1 | 2 } = {}): Promise<RedisSentinel> {
  const master = await startRedis()
  const settings = { replicaof: ['127.0.0.1', `${master.port}`], 'repl-diskless-sync-delay': 0 }
  const replica = await startRedis({ settings })
  const others = replicas === 2 ? [await startRedis({ settings })] : []
  const config = join(mkdtempSync(join(tmpdir(), 'spillway-sentinel-')), 'sentinel.conf')
  writeFileSync(
    config,
    [
      `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 1`,
      // No failover but the one that a test asks for, however slow the machine is.
      `sentinel down-after-milliseconds ${NAME} 600000`,
    ].join('\n'),
  )
  const sentinel = await startRedis({ sentinel: config })
  const [asked, reported] = [new Client({ port: replica.port }), new Client({ port: sentinel.port })]
  for (const client of [asked, reported]) client.on('error', () => {})
  await until(async () => (await asked.info('replication')).includes('master_link_status:up'))
  await until(async () => ((await reported.call('SENTINEL', 'REPLICAS', NAME)) as unknown[]).length === replicas)
  return {
    name: NAME,
    sentinel,
    master,
    replica,
    others,
    async failover() {
      await until(() =>
        reported.call('SENTINEL', 'FAILOVER', NAME).then(
          () => true,
          () => false,
        ),
      )
      await until(async () => {
        const [, port] = (await reported.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[]
        return port === `${replica.port}`
      })
    },
    async stop() {
      asked.disconnect()
      reported.disconnect()
      await Promise.all([master, replica, ...others, sentinel].map((server) => server.stop()))
    },
  }
}
