import { createHash, createHmac } from 'node:crypto'
import { QuotaError, type StateKey, shown } from '@spillway/core'
import { escaped } from './scan.ts'

/** The version of what is stored: a script that stores it otherwise gets another, and finds new states. */
const VERSION = 1

/**
 * The name of a state's key: `spillway:1{key}policy`. The braces make the key the hash tag, so that all policies of one
 * key share a slot of a cluster.
 *
 * No two states share a name: the first `}` ends the key, and what is not short, printable ASCII is a hash with `~`
 * before it. Redis would take any bytes, but half a character has none, and a long name costs memory a second time. A
 * policy without a name of its own, `default`, goes without saying.
 */
export function nameOf(prefix: string, { policy, key }: StateKey): string {
  return `${headOf(prefix)}${plain(key)}${tailOf(policy)}`
}

const headOf = (prefix: string): string => `${prefix}:${VERSION}{`
const tailOf = (policy: string): string => `}${policy === 'default' ? '' : plain(policy)}`

/** What the names of these policies' states look like: a pattern for SCAN, and whether a name it finds is one. */
export function namesOf(prefix: string, policies: readonly string[]): readonly [string, (name: string) => boolean] {
  const head = headOf(prefix)
  const tails = policies.map(tailOf)
  const isOurs = (name: string): boolean => {
    const close = name.indexOf('}', head.length)
    // The names of another store may begin and end as ours do. They have more braces than one pair.
    return name.startsWith(head) && tails.includes(name.slice(close))
  }
  return [`${escaped(head)}*${tails.length === 1 ? escaped(tails[0] as string) : '}*'}`, isOurs]
}

const PLAIN = /^(?!~)[ -z|~]{1,64}$/

const plain = (text: string): string =>
  PLAIN.test(text) ? text : `~${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')}`

/** Checks a prefix, which may bring a hash tag of its own. */
export function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix !== '' && /^[!-z|~]*(?:\{[!-z|~]+\}[!-z|~]*)?$/.test(prefix)) return prefix
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `redisStore prefix must be printable ASCII without spaces, such as "shop", or with one pair of braces, such as "{shop}", to keep everything in one slot; got ${shown(prefix)}.`,
  )
}

/** The hash of keys for those who know the secret: 132 bits, as text. */
export const keyed =
  (secret: string) =>
  (key: string): string =>
    createHmac('sha256', secret).update(Buffer.from(key, 'utf16le')).digest('base64url').slice(0, 22)
