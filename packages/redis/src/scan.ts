import type { DialectName } from './clients.ts'

/** How many keys one SCAN examines: a few tenths of a millisecond of the server's CPU time. */
const COUNT = 1_000

/**
 * SCAN in a script, which clients send to the primary: a cursor means nothing to a replica. It also returns which run of
 * which server this is, or '' if the user may not ask.
 */
const SCAN_LUA = `local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local info = redis.pcall('INFO', 'server')
return {found[1], found[2], type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''}`

/** The methods of an ioredis client that a scan needs, or of an object for another client, which has no `info`. */
interface Ioredis {
  readonly options?: { readonly keyPrefix?: string }
  readonly isCluster?: boolean
  nodes(role: 'master'): readonly Ioredis[]
  exists(name: string): Promise<unknown>
  eval(script: string, keyCount: 0, ...rest: string[]): Promise<unknown>
  info?(section: string): Promise<unknown>
  scan(cursor: string, ...words: string[]): Promise<readonly [cursor: unknown, names: readonly unknown[]]>
  unlink(...names: string[]): Promise<unknown>
}

/** The methods of a node-redis client that a scan needs. */
interface NodeRedis {
  readonly masters?: readonly NodeRedisNode[]
  nodeClient?(node: NodeRedisNode): Promise<NodeRedis>
  /** What a cluster before 4.5 has instead. */
  getMasters?(): readonly NodeRedisNode[]
  eval(script: string, request: { keys: string[]; arguments: string[] }): Promise<unknown>
  unlink(names: string | readonly string[]): Promise<unknown>
}

/** A node of a cluster; before 4.5 it has its client. */
interface NodeRedisNode {
  readonly client?: NodeRedis
}

/** The methods of a GLIDE client that a scan needs. */
interface Glide {
  customCommand(words: string[]): Promise<unknown>
  /** Of a cluster. */
  scan(
    cursor: GlideCursor,
    options: { match: string; count: number },
  ): Promise<readonly [GlideCursor, readonly unknown[]]>
  unlink(names: readonly string[]): Promise<unknown>
}

/**
 * The cursor of a cluster, which leads through all of its masters. The client drops the scan's state once this object
 * is garbage: its text alone does not continue a scan.
 */
interface GlideCursor {
  getCursor(): string
}

/** What one SCAN has found. */
interface Found {
  /** The next cursor; `0` after the last. */
  readonly next: string
  readonly names: readonly string[]
  /** Identifies the run of the server, if it is known. */
  readonly runId?: string
}

/** One SCAN of one server. */
type Scan = (cursor: string) => Promise<Found>

/** How a client lists and deletes keys. */
export interface Scanner {
  /** One per master. */
  readonly scans: readonly Scan[]
  /** Deletes keys of any hash slots, and returns how many there were. */
  unlink(names: readonly string[]): Promise<number>
}

/** Returns how a client lists the keys that match a pattern. */
type ScannerOf = (client: object, pattern: string) => Promise<Scanner> | Scanner

/**
 * Deletes keys by one SCAN after the other on every master, and returns how many there were. No command blocks the
 * server for long. A key that exists for the whole scan is deleted, unless its hash slot moves meanwhile.
 */
export async function deleteMatching(scanner: Scanner, match: Match): Promise<number> {
  let deleted = 0
  for await (const names of listMatching(scanner, match)) if (names.length > 0) deleted += await scanner.unlink(names)
  return deleted
}

/** Which names are wanted: those that match a pattern for SCAN, and a predicate. */
export interface Match {
  readonly pattern: string
  readonly isWanted: (name: string) => boolean
}

/** Lists names by one SCAN after the other on every master. A chunk may be empty, and a name may be listed twice. */
export async function* listMatching({ scans }: Scanner, { isWanted }: Match): AsyncGenerator<readonly string[]> {
  for (const scan of scans) {
    let last = await scan('0')
    yield last.names.filter(isWanted)
    while (last.next !== '0') {
      const found = await scan(last.next)
      // The cursor was not of this server: it would leave out keys.
      if (found.runId !== last.runId) throw new Error(CHANGED)
      last = found
      yield last.names.filter(isWanted)
    }
  }
}

const CHANGED = 'the server was restarted, or another one promoted, during the scan. Call it again.'

/** The arguments of a scan's script. */
const scanArguments = (cursor: string, pattern: string): [string, string, string] => [cursor, pattern, `${COUNT}`]

/** What a scan's script has returned. */
function foundIn(reply: unknown): Found {
  const [next, names, runId] = reply as readonly [unknown, readonly unknown[], unknown]
  return { next: String(next), names: names.map(String), runId: String(runId) }
}

const scannerOfIoredis: ScannerOf = async (client, pattern) => {
  const redis = client as Ioredis
  const { isCluster = false, options: { keyPrefix = '' } = {} } = redis
  // ioredis knows the masters of a cluster only after it has sent a command.
  if (isCluster) await redis.exists(pattern)
  const prefixed = escaped(keyPrefix) + pattern
  // An object for another client may call a service whose scripts cannot scan.
  const find = async (node: Ioredis, cursor: string): Promise<Found> => {
    if (typeof redis.info === 'function')
      return foundIn(await node.eval(SCAN_LUA, 0, ...scanArguments(cursor, prefixed)))
    const [next, names] = await node.scan(cursor, 'MATCH', prefixed, 'COUNT', `${COUNT}`)
    return { next: String(next), names: names.map(String) }
  }
  const scans = (isCluster ? redis.nodes('master') : [redis]).map(
    (node): Scan =>
      async (cursor) => {
        const { names, ...found } = await find(node, cursor)
        // The client adds its prefix to names, but not to patterns.
        return { ...found, names: names.map((name) => name.slice(keyPrefix.length)) }
      },
  )
  return { scans, unlink: unlinking(isCluster, (names) => redis.unlink(...names)) }
}

const scannerOfNodeRedis: ScannerOf = async (client, pattern) => {
  const redis = client as NodeRedis
  const clientOf = async (node: NodeRedisNode): Promise<NodeRedis> =>
    redis.nodeClient ? redis.nodeClient(node) : (node.client as NodeRedis)
  const masters = redis.masters ?? redis.getMasters?.()
  const nodes = masters && (await Promise.all(masters.map(clientOf)))
  const scans = (nodes ?? [redis]).map(
    (node): Scan =>
      async (cursor) =>
        foundIn(await node.eval(SCAN_LUA, { keys: [], arguments: scanArguments(cursor, pattern) })),
  )
  return { scans, unlink: unlinking(nodes !== undefined, (names) => redis.unlink(names)) }
}

const scannerOfGlide: ScannerOf = (client, pattern) => {
  const redis = client as Glide
  const scan: Scan = async (cursor) =>
    foundIn(await redis.customCommand(['EVAL', SCAN_LUA, '0', ...scanArguments(cursor, pattern)]))
  return { scans: [scan], unlink: async (names) => Number(await redis.unlink(names)) }
}

/** A cluster's client finds the masters by itself, and goes on if one of them is replaced. */
const scannerOfGlideCluster: ScannerOf = (client, pattern) => {
  const redis = client as Glide
  // That of a new scan is empty. The scan holds the object until the reply that replaces it.
  let last: GlideCursor = { getCursor: () => '' }
  const scan: Scan = async () => {
    const [cursor, names] = await redis.scan(last, { match: pattern, count: COUNT })
    last = cursor
    const id = cursor.getCursor()
    return { next: id === 'finished' ? '0' : id, names: names.map(String) }
  }
  return { scans: [scan], unlink: async (names) => Number(await redis.unlink(names)) }
}

/** Returns how a client lists the keys that match a pattern, by whose methods it has. */
export const SCANNERS: Readonly<Record<DialectName, ScannerOf>> = {
  ioredis: scannerOfIoredis,
  'node-redis': scannerOfNodeRedis,
  GLIDE: scannerOfGlide,
  'GLIDE cluster': scannerOfGlideCluster,
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
