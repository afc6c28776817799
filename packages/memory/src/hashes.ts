/** The most characters of a key that has a word: those of a UUID. */
export const SHORT = 36
/** The word of a key that has none. */
export const NONE = 0

/** How many of a word's bits tell the length of its key. */
const LENGTH_BITS = 6
const LATIN1 = 0xff

// Every runtime has it, though no ECMAScript library declares it.
declare const crypto: { getRandomValues<T>(into: T): T }

/**
 * Hashes of keys, drawn by lot when this is made, because strangers choose keys, and must not be able to choose many that
 * agree. Each character is multiplied by a secret number of its place (multilinear hashing): whoever does not know those
 * cannot make two keys agree but by chance, least of all in the upper bits.
 */
export class Hashes {
  readonly #secret = crypto.getRandomValues(new Int32Array(SHORT))
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
}
