import { createHash, createHmac } from 'node:crypto'
import type { StateKey } from '@spillway/core'

/** The maximum length of a key and a policy that are stored unchanged. An index entry holds at most some 2,700 bytes. */
export const LONGEST_KEY = 200
export const LONGEST_POLICY = 400

/**
 * The name of a state's row: `policy/key`. A policy or key that is long or not plain text is replaced by its hash.
 *
 * No two states share a name: the first slash ends the policy, whose own slashes are written `%2F`, and only a hash
 * starts with `#`. PostgreSQL's text allows neither NUL nor lone surrogates, which a key may contain.
 */
export const rowName = ({ policy, key }: StateKey): string =>
  startOf(policy) + (isPlain(key, LONGEST_KEY) ? key : hashOf(key))

/** The prefix of the names of a policy's rows. No other policy's names start with it. */
export function startOf(policy: string): string {
  const name = policy.replace(/[%/]/g, encodeURIComponent)
  return `${isPlain(name, LONGEST_POLICY) ? name : hashOf(policy)}/`
}

/** The end of those names, which all begin with `start`: `0` follows `/` in byte order. */
export const endOf = (start: string): string => `${start.slice(0, -1)}0`

/** The first name that may follow another: a space is the least character of names. */
export const nameAfter = (name: string): string => `${name} `

/** The key in a name that begins with `start`. */
export function keyIn(start: string, name: string): { readonly key: string; readonly isDigest: boolean } {
  const key = name.slice(start.length)
  return { key, isDigest: key.startsWith('#') }
}

const isPlain = (text: string, most: number): boolean =>
  text.length <= most && !text.startsWith('#') && /^[\x20-\x7e]*$/.test(text)

/** A hash of any text, which no key and no policy begin with. */
export const hashOf = (text: string): string =>
  `#${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')}`

/** Returns a keyed hash: HMAC-SHA-256, truncated to 132 bits, in base64url. */
export const keyed =
  (secret: string) =>
  (key: string): string =>
    createHmac('sha256', secret).update(Buffer.from(key, 'utf16le')).digest('base64url').slice(0, 22)
