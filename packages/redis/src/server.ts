import { oncePer } from '@spillway/core/internal'
import type { DialectName } from './clients.ts'

interface Node {
  readonly host?: string | null
  readonly port?: number | null
  readonly path?: string | null
}

/** What the clients of ioredis and node-redis say of their server. */
interface Described {
  readonly options?: Node & {
    readonly db?: number
    readonly database?: number
    readonly keyPrefix?: string
    readonly name?: string
    readonly sentinels?: readonly Node[] | null
    readonly socket?: Node
  }
  /** Of a cluster of ioredis. */
  readonly startupNodes?: readonly (Node | string | number)[]
  /** Of ioredis; `end` if it is closed for good. */
  readonly status?: string
  /** Of ioredis: whether it closes. */
  readonly manuallyClosing?: boolean
  /** Of node-redis: whether it is connected, or connects. */
  readonly isOpen?: boolean
  once?(event: 'end', listener: () => void): unknown
  readonly duplicate?: unknown
}

/** Whether a client of node-redis has ended before. It has no property for that: until it connects, it is not open, either. */
const endOf = /* @__PURE__ */ oncePer('redis ends', (client: Described) => {
  const end = { hasCome: false }
  client.once?.('end', () => {
    end.hasCome = true
  })
  return end
})

/**
 * Returns the server and the database of a client, as its options say: two clients with the same have the same states. Undefined if
 * the client is closed, or does not say: clusters and pools of node-redis, GLIDE, and clients of others.
 */
export function serverReader(client: object, dialect: DialectName): () => string | undefined {
  const end = dialect === 'node-redis' ? endOf(client) : undefined
  return () => {
    const { options, startupNodes, status, manuallyClosing, isOpen, duplicate } = client as Described
    if (dialect !== 'ioredis' && dialect !== 'node-redis') return undefined
    if (status === 'end' || manuallyClosing === true || (end?.hasCome && isOpen === false)) return undefined
    if (typeof options !== 'object' || options === null || typeof duplicate !== 'function') return undefined
    const { socket = options, db = 0, database = db, keyPrefix = '', sentinels, name } = options
    const nodes = startupNodes ?? sentinels ?? [socket]
    return JSON.stringify([nodes.map(addressOf).sort(), sentinels ? name : '', database, keyPrefix])
  }
}

const LOOPBACK = /^(?:127\.0\.0\.1|::1)$/

function addressOf(node: Node | string | number): string {
  // A URL has a password.
  const { host, port, path } = typeof node === 'object' ? node : nodeIn(`${node}`)
  return path ?? `${(host ?? 'localhost').replace(LOOPBACK, 'localhost').toLowerCase()}:${port ?? 6379}`
}

function nodeIn(text: string): Node {
  if (/^\d+$/.test(text)) return { port: Number(text) }
  if (!URL.canParse(text)) return { path: text }
  const { hostname, port } = new URL(text)
  return { host: hostname, port: Number(port || 6379) }
}
