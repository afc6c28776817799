import { createHash, createHmac } from 'node:crypto'
import type { StateKey } from '@spillway/core'

/** The most characters of a key, and of a policy, that are kept as they are; an index entry holds some 2,700 bytes at most. */
export const LONGEST_KEY = 200
export const LONGEST_POLICY = 400

/**
 * The name of a state's row: `policy/key`, readable, where both are plain text and short; else a hash of what is not.
 *
 * No two states share a name: the first slash ends the policy, whose own slashes are written `%2F`, and only a hash begins
 * with `#`. PostgreSQL's text can hold neither NUL nor half a character, which a key may have.
 */
export const nameOf = ({ policy, key }: StateKey): string =>
  startOf(policy) + (isPlain(key, LONGEST_KEY) ? key : hashOf(key))

/** What the names of a policy's rows begin with, and those of no other policy. */
export function startOf(policy: string): string {
  const name = policy.replace(/[%/]/g, encodeURIComponent)
  return `${isPlain(name, LONGEST_POLICY) ? name : hashOf(policy)}/`
}

const isPlain = (text: string, most: number): boolean =>
  text.length <= most && !text.startsWith('#') && /^[\x20-\x7e]*$/.test(text)

const hashOf = (text: string): string =>
  `#${createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')}`

/** The hash of keys for those who know the secret: 132 bits, as text. */
export const keyed =
  (secret: string) =>
  (key: string): string =>
    createHmac('sha256', secret).update(Buffer.from(key, 'utf16le')).digest('base64url').slice(0, 22)
