import type { StateKey } from '@spillway/core'

interface Hash {
  update(text: string, encoding: 'utf16le'): Hash
  digest(encoding: 'base64url'): string
}

/** What is used of `node:crypto`. */
export interface Crypto {
  createHash(algorithm: 'sha256'): Hash
  createHmac(algorithm: 'sha256', secret: string): Hash
}

/** How the names of rows are made. */
export interface NameOptions {
  readonly crypto: Crypto
  /** The most characters of a policy, and of a key, that are stored unchanged: 44 or more. */
  readonly longestPolicy: number
  readonly longestKey: number
  /** The secret that keys are hashed with. */
  readonly hashKeys?: string | undefined
}

/** The names of a store's rows. */
export interface Names {
  /**
   * The name of a state's row: `policy/key`, in printable ASCII. A policy or key that is long or not plain text is replaced by
   * its hash.
   *
   * No two states share a name: the first slash ends the policy, whose own slashes are written `%2F`, and only a hash
   * starts with `#`. Databases replace lone surrogates, cut at NUL, and ignore case, accents or spaces at the end.
   */
  of(state: StateKey): string
  /** The prefix of the names of a policy's rows. No other policy's names start with it. */
  startOf(policy: string): string
  /** The key in a name that begins with `start`. */
  keyIn(start: string, name: string): { readonly key: string; readonly isDigest: boolean }
}

/** Returns the names of a store's rows. */
export function namesOf({ crypto, longestPolicy, longestKey, hashKeys }: NameOptions): Names {
  const hashOf = (text: string): string => digestOf(crypto, text)
  const keyed = (key: string): string => (hashKeys === undefined ? key : keyedDigest(crypto, hashKeys, key))
  const plainOr = (text: string, most: number, whole: string): string => (isPlain(text, most) ? text : hashOf(whole))
  const startOf = (policy: string): string =>
    `${plainOr(policy.replace(/[%/]/g, encodeURIComponent), longestPolicy, policy)}/`
  return {
    of({ policy, key }) {
      const stored = keyed(key)
      return startOf(policy) + plainOr(stored, longestKey, stored)
    },
    startOf,
    keyIn(start, name) {
      const key = name.slice(start.length)
      return { key, isDigest: hashKeys !== undefined || key.startsWith('#') }
    },
  }
}

/** The end of the names that begin with `start`: `0` follows `/` in byte order. */
export const endOf = (start: string): string => `${start.slice(0, -1)}0`

/** The first name that may follow another: a space is the least character of names. */
export const nameAfter = (name: string): string => `${name} `

const isPlain = (text: string, most: number): boolean =>
  text.length <= most && !text.startsWith('#') && /^[\x20-\x7e]*$/.test(text)

/** A hash of any text, which no key and no policy begin with. */
export const digestOf = (crypto: Crypto, text: string): string =>
  `#${crypto.createHash('sha256').update(text, 'utf16le').digest('base64url')}`

/** A keyed hash: HMAC-SHA-256, truncated to 132 bits, in base64url. */
export const keyedDigest = (crypto: Crypto, secret: string, key: string): string =>
  crypto.createHmac('sha256', secret).update(key, 'utf16le').digest('base64url').slice(0, 22)
