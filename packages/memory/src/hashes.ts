/** The maximum length of a key with a fingerprint, in characters: the length of a UUID. */
export const SHORT = 36
/** The fingerprint of a key that is too long or not Latin-1. */
export const NONE = 0

/** How many bits of a fingerprint hold the length of its key. */
const LENGTH_BITS = 6
const LATIN1 = 0xff

const LENGTHS = (1 << LENGTH_BITS) - 1
/** The length of a digest, and what stands for it in a fingerprint, so that no other key has the same. */
const [DIGEST_LENGTH, DIGEST] = [16, LENGTHS]

/** The fingerprint of a digest as the key of a slot. */
export const asDigest = (fingerprint: number): number => fingerprint | DIGEST

export const isDigest = (fingerprint: number): boolean => (fingerprint & LENGTHS) === DIGEST

/** The length of the key with this fingerprint. */
export const lengthIn = (fingerprint: number): number =>
  isDigest(fingerprint) ? DIGEST_LENGTH : (fingerprint & LENGTHS) - 1

// Every runtime has it, but no ECMAScript library declares it.
declare const crypto: { getRandomValues<T>(into: T): T }

/**
 * A randomly seeded hash function. Clients choose keys, and must not be able to choose many keys that collide. Each
 * character is multiplied by a secret number for its position (multilinear hashing). Without the secret, two keys
 * collide only by chance, least of all in the upper bits.
 */
export class Hashes {
  readonly #secret = crypto.getRandomValues(new Int32Array(SHORT))
  /** The characters of the last key that was hashed, four to a number. */
  readonly packedKey: Int32Array = new Int32Array(SHORT / 4)

  /** Returns a hash with the length in the lowest bits; {@link NONE} for a key that is too long or not Latin-1. */
  fingerprint(key: string): number {
    const { length } = key
    if (length > SHORT) return NONE
    const secret = this.#secret
    const packedKey = this.packedKey
    let hash = 0
    let seen = 0
    let four = 0
    for (let i = 0; i < length; i++) {
      const code = key.charCodeAt(i)
      seen |= code
      hash = (hash + Math.imul(secret[i] as number, code)) | 0
      four |= code << (8 * i)
      if ((i & 3) < 3) continue
      packedKey[i >> 2] = four
      four = 0
    }
    if (length & 3) packedKey[length >> 2] = four
    return seen > LATIN1 ? NONE : (hash & (-1 << LENGTH_BITS)) | (length + 1)
  }
}
