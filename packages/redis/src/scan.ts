/** How many keys one SCAN looks at: some tenths of a millisecond of the server's time. */
const COUNT = 1_000

/** What is used of a client of ioredis, beside what scripts need. */
interface Ioredis {
  readonly options?: { readonly keyPrefix?: string }
  readonly isCluster?: boolean
  nodes(role: 'master'): readonly Ioredis[]
  exists(name: string): Promise<unknown>
  scan(cursor: string, ...words: string[]): Promise<readonly [cursor: string, names: readonly string[]]>
  unlink(...names: string[]): Promise<unknown>
}

/** The same of node-redis. */
interface NodeRedis {
  readonly masters?: readonly unknown[]
  nodeClient(node: unknown): Promise<NodeRedis>
  scan(
    cursor: string,
    options: { MATCH: string; COUNT: number },
  ): Promise<{ readonly cursor: unknown; readonly keys: readonly unknown[] }>
  unlink(names: string | readonly string[]): Promise<unknown>
}

/** One SCAN of one server: the next cursor, `0` after the last, and names. */
type Scan = (cursor: string) => Promise<readonly [cursor: string, names: readonly string[]]>

/** How a client lists and deletes keys. */
interface Scanner {
  /** One for each master. */
  readonly scans: readonly Scan[]
  /** Names of any hash slot. */
  unlink(names: readonly string[]): Promise<number>
}

/**
 * Deletes keys, one SCAN after the other on every master, and returns how many there were. No command blocks the server
 * for long. What is there from beginning to end is deleted; a key whose slot moves meanwhile may be missed.
 */
export async function deleteMatching(
  client: object,
  pattern: string,
  isWanted: (name: string) => boolean,
): Promise<number> {
  const { scans, unlink } = await ('evalSha' in client
    ? nodeRedis(client as unknown as NodeRedis, pattern)
    : ioredis(client as Ioredis, pattern))
  let deleted = 0
  for (const scan of scans) {
    let cursor = '0'
    do {
      const [next, names] = await scan(cursor)
      const wanted = names.filter(isWanted)
      if (wanted.length > 0) deleted += await unlink(wanted)
      cursor = next
    } while (cursor !== '0')
  }
  return deleted
}

async function ioredis(client: Ioredis, pattern: string): Promise<Scanner> {
  const { isCluster = false, options: { keyPrefix = '' } = {} } = client
  // A cluster knows its masters once it has sent a command.
  if (isCluster) await client.exists(pattern)
  const scans = (isCluster ? client.nodes('master') : [client]).map(
    (node): Scan =>
      async (cursor) => {
        const [next, names] = await node.scan(cursor, 'MATCH', escaped(keyPrefix) + pattern, 'COUNT', `${COUNT}`)
        // The client writes its prefix before names, and not before patterns.
        return [next, names.map((name) => name.slice(keyPrefix.length))]
      },
  )
  return { scans, unlink: unlinking(isCluster, (names) => client.unlink(...names)) }
}

async function nodeRedis(client: NodeRedis, pattern: string): Promise<Scanner> {
  const nodes = client.masters && (await Promise.all(client.masters.map((node) => client.nodeClient(node))))
  const scans = (nodes ?? [client]).map(
    (node): Scan =>
      async (cursor) => {
        const { cursor: next, keys } = await node.scan(cursor, { MATCH: pattern, COUNT })
        return [String(next), keys.map(String)]
      },
  )
  return { scans, unlink: unlinking(nodes !== undefined, (names) => client.unlink(names)) }
}

/** One command for all names, where they need not share a slot; a cluster's client finds each its node. */
const unlinking =
  (clustered: boolean, unlink: (names: readonly string[]) => Promise<unknown>): Scanner['unlink'] =>
  async (names) => {
    const counts = await Promise.all(clustered ? names.map((name) => unlink([name])) : [unlink(names)])
    return counts.reduce((sum: number, count) => sum + Number(count), 0)
  }

/** Text as a pattern that matches nothing else. */
export const escaped = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')
