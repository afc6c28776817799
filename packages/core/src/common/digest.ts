/** The bytes of a digest, and of a block of input. */
const BLOCK = 16
/** Mixing rounds per block. */
const ROUNDS = 8
/** A character of more than a byte. V8 marks texts without any, and then does not read them. */
const WIDE = /[\u0100-\uffff]/

interface Hash {
  update(data: Uint8Array | string, encoding?: 'latin1' | 'utf16le'): Hash
  digest(encoding: 'latin1'): string
}
type CreateHash = (algorithm: string) => Hash

// Every runtime has `crypto`, though no ECMAScript library declares it. `getBuiltinModule` finds `node:crypto` without an
// import that edge runtimes could not resolve.
declare const crypto: { getRandomValues<T>(into: T): T }
declare const process:
  | {
      versions?: { node?: string; v8?: string }
      getBuiltinModule?: (name: string) => { createHash?: CreateHash } | undefined
    }
  | undefined

/**
 * Reports whether clients can choose texts that collide in this runtime's Map: in Bun, which hashes without a
 * secret, and in Node 24.0.0 to 24.4.0, whose secret a text can cancel (CVE-2025-27209).
 */
export function hasKnownHashes(): boolean {
  const node = typeof process === 'undefined' ? undefined : process.versions?.node
  return 'Bun' in globalThis || /^24\.([0-3]\.|4\.0$)/.test(node ?? '')
}

/** The first version of each line of Node that hashes array indexes with a secret: minor and patch as one number. */
const SEEDED: Readonly<Record<number, number>> = { 20: 20_002, 22: 22_002, 24: 14_001, 25: 8_002 }
const FIRST_SEEDED = 26

/**
 * Reports whether clients can choose texts of digits that collide in this runtime's Map: V8 hashed array indexes by their
 * value alone (CVE-2026-21717), which Node mended in March 2026. Runtimes with another V8 may claim any version of Node.
 */
export function hasKnownIndexHashes(): boolean {
  const { node = '', v8 = '' } = (typeof process === 'undefined' ? undefined : process.versions) ?? {}
  const [major = 0, minor = 0, patch = 0] = node.split('.').map(Number.parseFloat)
  return !v8.includes('-node.') || (major < FIRST_SEEDED && !(1000 * minor + patch >= (SEEDED[major] ?? Infinity)))
}

/**
 * Builds a function that hashes long keys to 16 bytes, as text of one byte a character. The hash is keyed by a random secret
 * for each call of `digester`, so that clients cannot choose two keys that collide: SHA-256, truncated, if `node:crypto` is
 * available, else Chaskey.
 */
export function digester(): (key: string) => string {
  const node = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:crypto')
  return node?.createHash ? keepingLast(sha256(node.createHash)) : smallDigester()
}

/** The same in little code, by Chaskey alone: up to eight times slower for keys of many thousand characters. */
export const smallDigester = (): ((key: string) => string) =>
  keepingLast(chaskey(crypto.getRandomValues(new Int32Array(8))))

/** A new key is digested twice in a row: for its lookup and for its insertion. */
function keepingLast(hash: (key: string) => string): (key: string) => string {
  let last = { key: '', digest: '' }
  return (key) => {
    if (key !== last.key) last = { key, digest: hash(key) }
    return last.digest
  }
}

function sha256(createHash: CreateHash): (text: string) => string {
  const secret = crypto.getRandomValues(new Uint8Array(2 * BLOCK))
  // A secret for each encoding: the same bytes may be a text in Latin-1 and another one in UTF-16.
  const [narrow, wide] = [secret.subarray(BLOCK), secret.subarray(0, BLOCK)]
  return (text) => {
    const hash = WIDE.test(text)
      ? createHash('sha256').update(wide).update(text, 'utf16le')
      : createHash('sha256').update(narrow).update(text, 'latin1')
    return hash.digest('latin1').slice(0, BLOCK)
  }
}

/**
 * Chaskey, a message authentication code for processors that count in 32 bits (Mouha and others, 2014), with the length
 * of the text as its first block.
 */
function chaskey(secret: Int32Array): (text: string) => string {
  const state = new Int32Array(4)
  const mask = (): void => {
    for (let i = 0; i < 4; i++) state[i] = (state[i] as number) ^ (secret[i + 4] as number)
  }
  return (text) => {
    const wide = WIDE.test(text)
    const size = wide ? BLOCK / 2 : BLOCK
    const whole = text.length - (text.length % size)
    state.set(secret.subarray(0, 4))
    absorb(state, `${text.length}${wide ? 'w' : ''}`.padEnd(BLOCK, ' '), false)
    absorb(state, text.slice(0, whole), wide)
    if (whole < text.length) absorb(state, text.slice(whole).padEnd(size, '\0'), wide)
    mask()
    absorb(state, '\0'.repeat(BLOCK), false)
    mask()
    return String.fromCharCode(...new Uint8Array(state.buffer))
  }
}

const bytesAt = (text: string, at: number): number =>
  text.charCodeAt(at) |
  (text.charCodeAt(at + 1) << 8) |
  (text.charCodeAt(at + 2) << 16) |
  (text.charCodeAt(at + 3) << 24)
const pairAt = (text: string, at: number): number => text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)

/** Adds a text of whole blocks to the state, and mixes after each: 16 characters are a block, or 8 that are wide. */
export function absorb(state: Int32Array, text: string, wide: boolean): void {
  let [a, b, c, d] = [state[0] as number, state[1] as number, state[2] as number, state[3] as number]
  const word = wide ? pairAt : bytesAt
  const size = wide ? 2 : 4
  for (let at = 0; at < text.length; at += 4 * size) {
    a ^= word(text, at)
    b ^= word(text, at + size)
    c ^= word(text, at + 2 * size)
    d ^= word(text, at + 3 * size)
    for (let i = 0; i < ROUNDS; i++) {
      a = (a + b) | 0
      b = ((b << 5) | (b >>> 27)) ^ a
      a = (a << 16) | (a >>> 16)
      c = (c + d) | 0
      d = ((d << 8) | (d >>> 24)) ^ c
      a = (a + d) | 0
      d = ((d << 13) | (d >>> 19)) ^ a
      c = (c + b) | 0
      b = ((b << 7) | (b >>> 25)) ^ c
      c = (c << 16) | (c >>> 16)
    }
  }
  state.set([a, b, c, d])
}

/** A hash of 32 bits, the same in all processes: FNV-1a, mixed once more because those of similar texts are close. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0
}
