import { Redis as Client } from 'ioredis'
import { type Redis, startRedis } from './redis.ts'

/** A cluster of our own: three masters, or so many, with their share of the slots each, and a replica of each if wanted. */
export interface RedisCluster {
  /** The masters, then any replicas in the same order. */
  readonly nodes: readonly Redis[]
  /** The node that serves a key now: the address that it gives to clients is looked up, not guessed. */
  masterOf(key: string): Promise<Redis>
  /**
   * Moves the slot of a key, with all that is in it, to another master, as `redis-cli --cluster reshard` does. `half` is
   * waited for when one key has moved.
   */
  move(key: string, half?: () => Promise<unknown>): Promise<void>
  /** Empties every master. */
  flush(): Promise<void>
  /** Resolves when every hash slot is served, and all nodes agree on its master. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const SLOTS = 16_384
// A node without a reply for this long has failed. Without replicas nothing takes over, and the other nodes would stop, too:
// on a busy machine also because of a node that is only late.
const NODE_TIMEOUT_MS = 1_000
const NO_FAILOVER_MS = 60_000

export async function startRedisCluster({ masters: count = 3, replicated = false } = {}): Promise<RedisCluster> {
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-node-timeout': replicated ? NODE_TIMEOUT_MS : NO_FAILOVER_MS,
    'repl-diskless-sync-delay': 0,
    // A node that has met no other does not know its own address.
    'cluster-announce-ip': '127.0.0.1',
  }
  const nodes = await Promise.all(
    Array.from({ length: replicated ? 2 * count : count }, () => startRedis({ settings })),
  )
  const clients = nodes.map(({ port }) => new Client({ port, lazyConnect: false }))
  // A node that is killed on purpose is no error of its client's.
  for (const client of clients) client.on('error', () => {})
  const masters = clients.slice(0, count)
  const ids = await Promise.all(clients.map((client) => client.call('CLUSTER', 'MYID') as Promise<string>))

  for (const [i, client] of masters.entries()) {
    const [from, to] = [Math.floor((i * SLOTS) / count), Math.floor(((i + 1) * SLOTS) / count)]
    await client.call('CLUSTER', 'ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => String(from + slot)))
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
  }
  for (const { port } of nodes.slice(1)) await masters[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(port))
  await until(async () => (await Promise.all(clients.map(known))).every((count) => count === nodes.length))
  for (const [i, client] of clients.slice(count).entries()) {
    await until(() =>
      client.call('CLUSTER', 'REPLICATE', ids[i] as string).then(
        () => true,
        () => false,
      ),
    )
  }

  const alive = (): readonly Client[] => clients.filter((_, i) => nodes[i]?.alive)
  const settled = (): Promise<void> =>
    until(async () => {
      const [all, owners] = await Promise.all([Promise.all(alive().map(serves)), Promise.all(alive().map(mastersOf))])
      return all.every(Boolean) && new Set(owners).size === 1
    })
  const ownerOf = async (key: string): Promise<{ slot: number; index: number }> => {
    const [client] = alive() as [Client]
    const slot = (await client.call('CLUSTER', 'KEYSLOT', key)) as number
    const ranges = (await client.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][]
    const range = ranges.find(([from, to]) => from <= slot && slot <= to)
    return { slot, index: nodes.findIndex(({ port }) => port === range?.[2][1]) }
  }
  await settled()
  await until(async () => (await Promise.all(clients.slice(count).map(linked))).every(Boolean))

  return {
    nodes,
    settled,
    async masterOf(key) {
      let master: Redis | undefined
      // A node names a master that has been killed until it learns of the failover.
      await until(async () => {
        master = nodes[(await ownerOf(key)).index]
        return master?.alive === true
      })
      return master as Redis
    },
    async move(key, half) {
      const { slot, index } = await ownerOf(key)
      const target = (index + 1) % count
      const [from, to] = [clients[index] as Client, clients[target] as Client]
      await to.call('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', ids[index] as string)
      await from.call('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', ids[target] as string)
      const { port } = nodes[target] as Redis
      const moveKey = async (): Promise<boolean> => {
        const keys = (await from.call('CLUSTER', 'GETKEYSINSLOT', String(slot), '1')) as string[]
        if (keys.length > 0) await from.call('MIGRATE', '127.0.0.1', String(port), '', '0', '5000', 'KEYS', ...keys)
        return keys.length > 0
      }
      try {
        await moveKey()
        await half?.()
      } finally {
        // Also after a failed test: the next one needs a whole slot.
        while (await moveKey());
        for (const client of [to, from, ...masters]) {
          await client.call('CLUSTER', 'SETSLOT', String(slot), 'NODE', ids[target] as string)
        }
        await settled()
      }
    },
    async flush() {
      for (const client of alive()) {
        const [role] = (await client.call('ROLE')) as [string]
        if (role === 'master') await client.call('FLUSHALL')
      }
    },
    async stop() {
      for (const client of clients) client.disconnect()
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
}

const known = async (client: Client): Promise<number> =>
  ((await client.call('CLUSTER', 'NODES')) as string)
    .trim()
    .split('\n')
    .filter((line) => line.includes('connected')).length

const serves = async (client: Client): Promise<boolean> =>
  ((await client.call('CLUSTER', 'INFO')) as string).includes('cluster_state:ok')

/** The master of each range of slots, as a node sees it. */
async function mastersOf(client: Client): Promise<string> {
  const ranges = (await client.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][]
  return ranges
    .map(([from, to, [, port]]) => `${from}-${to} ${port}`)
    .sort()
    .join()
}

const linked = async (client: Client): Promise<boolean> =>
  (await client.info('replication')).includes('master_link_status:up')

/** Waits for something that servers agree on among themselves in their own time, which no test can set. */
export async function until(holds: () => Promise<boolean>, limitMs = 20_000): Promise<void> {
  const start = performance.now()
  while (!(await holds())) {
    if (performance.now() - start > limitMs) throw new Error(`not within ${limitMs} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
