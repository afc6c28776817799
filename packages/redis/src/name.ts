import { createHash, createHmac } from 'node:crypto'
import { QuotaError, type StateKey } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'

/** The version of the stored format. A script with another format needs another version, and starts with new states. */
const VERSION = 1

/**
 * Names the keys of states: `spillway:1{key}policy`. The braces make the key the hash tag, so that all policies of one
 * key share a slot of a cluster.
 *
 * No two states share a name: the first `}` ends the key, and a key that is not short, printable ASCII is replaced by
 * `~` and its hash. Redis accepts any bytes, but a lone surrogate has no UTF-8, and a long name costs memory a second
 * time. The policy name `default` is omitted.
 */
export function namerOf(prefix: string): (state: StateKey) => string {
  const head = headOf(prefix)
  return ({ policy, key }) => `${head}${plain(key)}}${policy === 'default' ? '' : plain(policy)}`
}

/** What all names of a prefix begin with. */
export const headOf = (prefix: string): string => `${prefix}:${VERSION}{`
/** What all names of a policy end with. */
export const tailOf = (policy: string): string => `}${policy === 'default' ? '' : plain(policy)}`

const PLAIN = /^(?!~)[ -z|~]{1,64}$/

const plain = (text: string): string =>
  PLAIN.test(text) ? text : `~${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')}`

/** Checks a prefix, which may contain a hash tag. */
export function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix !== '' && /^[!-z|~]*(?:\{[!-z|~]+\}[!-z|~]*)?$/.test(prefix)) return prefix
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `redisStore prefix must be printable ASCII without spaces, such as "shop", or with one pair of braces, such as "{shop}", to keep everything in one slot; got ${formatValue(prefix)}.`,
  )
}

/** Returns a keyed hash: HMAC-SHA-256, truncated to 132 bits, in base64url. */
export const keyed =
  (secret: string) =>
  (key: string): string =>
    createHmac('sha256', secret).update(Buffer.from(key, 'utf16le')).digest('base64url').slice(0, 22)
