/** How many keys one SCAN examines: a few tenths of a millisecond of the server's CPU time. */
const COUNT = 1_000

/** The methods of an ioredis client that a scan needs. */
interface Ioredis {
  readonly options?: { readonly keyPrefix?: string }
  readonly isCluster?: boolean
  nodes(role: 'master'): readonly Ioredis[]
  exists(name: string): Promise<unknown>
  scan(cursor: string, ...words: string[]): Promise<readonly [cursor: string, names: readonly string[]]>
  unlink(...names: string[]): Promise<unknown>
}

/** The methods of a node-redis client that a scan needs. */
interface NodeRedis {
  readonly masters?: readonly NodeRedisNode[]
  nodeClient(node: NodeRedisNode): Promise<NodeRedis>
  /** What a cluster before 4.5 has instead. */
  getMasters?(): readonly NodeRedisNode[]
  scan(
    cursor: string,
    options: { MATCH: string; COUNT: number },
  ): Promise<{ readonly cursor: unknown; readonly keys: readonly unknown[] }>
  unlink(names: string | readonly string[]): Promise<unknown>
}

/** A node of a cluster; before 4.5 it has its client. */
interface NodeRedisNode {
  readonly client?: NodeRedis
}

/** The methods of a GLIDE client that a scan needs. */
interface Glide {
  scan(
    cursor: GlideCursor | string,
    options: { match: string; count: number },
  ): Promise<readonly [unknown, readonly unknown[]]>
  unlink(names: readonly string[]): Promise<unknown>
}

/**
 * The cursor of a cluster, which leads through all of its masters. The client drops the scan's state once this object
 * is garbage: its text alone does not continue a scan.
 */
interface GlideCursor {
  getCursor(): string
}

/** One SCAN of one server: returns the next cursor (`0` after the last) and names. */
type Scan = (cursor: string) => Promise<readonly [cursor: string, names: readonly string[]]>

/** How a client lists and deletes keys. */
interface Scanner {
  /** One per master. */
  readonly scans: readonly Scan[]
  /** Deletes keys of any hash slots, and returns how many there were. */
  unlink(names: readonly string[]): Promise<number>
}

/**
 * Deletes keys by one SCAN after the other on every master, and returns how many there were. No command blocks the
 * server for long. A key that exists for the whole scan is deleted, unless its hash slot moves meanwhile.
 */
export async function deleteMatching(client: object, match: Match): Promise<number> {
  const scanner = await scannerOf(client, match)
  let deleted = 0
  for await (const names of matching(scanner, match)) if (names.length > 0) deleted += await scanner.unlink(names)
  return deleted
}

/** Lists names by one SCAN after the other on every master. A chunk may be empty, and a name may be listed twice. */
export async function* listMatching(client: object, match: Match): AsyncGenerator<readonly string[]> {
  yield* matching(await scannerOf(client, match), match)
}

/** Which names are wanted: those that match a pattern for SCAN, and a predicate. */
export interface Match {
  readonly pattern: string
  readonly isWanted: (name: string) => boolean
}

async function* matching({ scans }: Scanner, { isWanted }: Match): AsyncGenerator<readonly string[]> {
  for (const scan of scans) {
    let cursor = '0'
    do {
      const [next, names] = await scan(cursor)
      yield names.filter(isWanted)
      cursor = next
    } while (cursor !== '0')
  }
}

function scannerOf(client: object, { pattern }: Match): Promise<Scanner> | Scanner {
  if ('evalSha' in client) return nodeRedis(client as unknown as NodeRedis, pattern)
  if ('customCommand' in client) return glide(client as unknown as Glide, pattern)
  return ioredis(client as Ioredis, pattern)
}

async function ioredis(client: Ioredis, pattern: string): Promise<Scanner> {
  const { isCluster = false, options: { keyPrefix = '' } = {} } = client
  // ioredis knows the masters of a cluster only after it has sent a command.
  if (isCluster) await client.exists(pattern)
  const scans = (isCluster ? client.nodes('master') : [client]).map(
    (node): Scan =>
      async (cursor) => {
        const [next, names] = await node.scan(cursor, 'MATCH', escaped(keyPrefix) + pattern, 'COUNT', `${COUNT}`)
        // The client adds its prefix to names, but not to patterns.
        return [next, names.map((name) => name.slice(keyPrefix.length))]
      },
  )
  return { scans, unlink: unlinking(isCluster, (names) => client.unlink(...names)) }
}

async function nodeRedis(client: NodeRedis, pattern: string): Promise<Scanner> {
  const clientOf = async (node: NodeRedisNode): Promise<NodeRedis> =>
    'nodeClient' in client ? client.nodeClient(node) : (node.client as NodeRedis)
  const masters = client.masters ?? client.getMasters?.()
  const nodes = masters && (await Promise.all(masters.map(clientOf)))
  const scans = (nodes ?? [client]).map(
    (node): Scan =>
      async (cursor) => {
        const { cursor: next, keys } = await node.scan(cursor, { MATCH: pattern, COUNT })
        return [String(next), keys.map(String)]
      },
  )
  return { scans, unlink: unlinking(nodes !== undefined, (names) => client.unlink(names)) }
}

function glide(client: Glide, pattern: string): Scanner {
  const options = { match: pattern, count: COUNT }
  const clustered = 'invokeScriptWithRoute' in client
  // That of a new scan is empty. The scan holds the object until the reply that replaces it.
  let ofCluster: GlideCursor = { getCursor: () => '' }
  const scan: Scan = async (cursor) => {
    const [next, names] = await client.scan(clustered ? ofCluster : cursor, options)
    if (!clustered) return [String(next), names.map(String)]
    ofCluster = next as GlideCursor
    const id = ofCluster.getCursor()
    return [id === 'finished' ? '0' : id, names.map(String)]
  }
  return { scans: [scan], unlink: async (names) => Number(await client.unlink(names)) }
}

/** Deletes all names by one command, or by one per name in a cluster, whose client finds the node of each. */
const unlinking =
  (clustered: boolean, unlink: (names: readonly string[]) => Promise<unknown>): Scanner['unlink'] =>
  async (names) => {
    const counts = await Promise.all(clustered ? names.map((name) => unlink([name])) : [unlink(names)])
    return counts.reduce((sum: number, count) => sum + Number(count), 0)
  }

/** Escapes text for a SCAN pattern. */
export const escaped = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')
