/** The most characters of a key that has a word: those of a UUID. */
export const SHORT = 36
/** The word of a key that has none. */
export const NONE = 0

/** How many of a word's bits tell the length of its key. */
const LENGTH_BITS = 6
const LATIN1 = 0xff
/** How many characters in a row are told apart by a secret number each: a power of two. */
const NUMBERS = 64
/** How many hashes a digest has, of four bytes each. */
const HASHES = 8

// Every runtime has it, though no ECMAScript library declares it.
declare const crypto: { getRandomValues<T>(into: T): T }

/**
 * Hashes of keys, drawn by lot when this is made, because strangers choose keys, and must not be able to choose many that
 * agree. Each character is multiplied by a secret number of its place (multilinear hashing): whoever does not know those
 * cannot make two keys agree but by chance, least of all in the upper bits.
 */
export class Hashes {
  readonly #secrets = Array.from({ length: HASHES }, () => crypto.getRandomValues(new Int32Array(NUMBERS)))
  readonly #secret = this.#secrets[0] as Int32Array
  /** The characters of the key whose word was asked for last, four to a number. */
  readonly letters: Int32Array = new Int32Array(SHORT / 4)

  /** A hash, and the length in the lowest bits; {@link NONE} for a key that is long, or not of a byte a character. */
  word(key: string): number {
    const { length } = key
    if (length > SHORT) return NONE
    const secret = this.#secret
    const letters = this.letters
    let hash = 0
    let seen = 0
    let four = 0
    for (let i = 0; i < length; i++) {
      const code = key.charCodeAt(i)
      seen |= code
      hash = (hash + Math.imul(secret[i] as number, code)) | 0
      four |= code << (8 * i)
      if ((i & 3) < 3) continue
      letters[i >> 2] = four
      four = 0
    }
    if (length & 3) letters[length >> 2] = four
    return seen > LATIN1 ? NONE : (hash & (-1 << LENGTH_BITS)) | (length + 1)
  }

  /** A name for a key, of 32 characters of a byte each, that no other will ever have. */
  digest(key: string): string {
    const bytes = new Uint8Array(Int32Array.from(this.#secrets, (secret) => hashOf(key, secret)).buffer)
    return String.fromCharCode(...bytes)
  }
}

/** A hash of a key of whatever length: what has been summed up is mixed before the numbers come around again. */
function hashOf(key: string, secret: Int32Array): number {
  let hash = key.length
  for (let i = 0; i < key.length; i++) {
    const place = i & (NUMBERS - 1)
    if (place === 0) hash = Math.imul(hash ^ (hash >>> 15), (secret[0] as number) | 1)
    hash = (hash + Math.imul(secret[place] as number, key.charCodeAt(i))) | 0
  }
  return hash
}
