import { createHash, createHmac } from 'node:crypto'
import type { StateKey } from '@spillway/core'

/** The longest name that is kept as it is; an index entry holds some 2,700 bytes at most. */
const LONGEST_NAME = 200

/**
 * The name of a state's row: `policy/key`, readable, where both are plain text and short; else a hash of them.
 *
 * No two states share a name: the first slash of a plain one ends the policy, whose own slashes are written `%2F`, and a
 * hash has no slash. PostgreSQL's text can hold neither NUL nor half a character, which a key may have.
 */
export function nameOf({ policy, key }: StateKey): string {
  const name = `${policy.replace(/[%/]/g, encodeURIComponent)}/${key}`
  if (name.length <= LONGEST_NAME && /^[\x20-\x7e]*$/.test(name)) return name
  return `#${createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('base64url')}`
}

/** The hash of keys for those who know the secret: 132 bits, as text. */
export const keyed =
  (secret: string) =>
  (key: string): string =>
    createHmac('sha256', secret).update(Buffer.from(key, 'utf16le')).digest('base64url').slice(0, 22)
