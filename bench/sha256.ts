/** The first 32 bits of the fractional parts of the roots of the first primes (FIPS 180-4). */
const primes = Array.from({ length: 312 }, (_, n) => n).filter((n) => {
  for (let i = 2; i * i <= n; i++) if (n % i === 0) return false
  return n > 1
})
const fraction = (root: number): number => ((root % 1) * 2 ** 32) | 0
const K = Int32Array.from(primes.slice(0, 64), (prime) => fraction(Math.cbrt(prime)))
const H = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))

const W = new Int32Array(64)
const encoder = new TextEncoder()

/** SHA-256 of a UTF-8 string in JavaScript: the only synchronous way in a runtime without node:crypto. */
export function portableSha256(text: string): Int32Array {
  const bytes = encoder.encode(text)
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(padded.length - 4, bytes.length << 3)
  const hash = H.slice()
  for (let at = 0; at < padded.length; at += 64) mix(hash, view, at)
  return hash
}

function mix(hash: Int32Array, view: DataView, at: number): void {
  for (let i = 0; i < 16; i++) W[i] = view.getInt32(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const early = W[i - 15] as number
    const late = W[i - 2] as number
    const s0 = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const s1 = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    W[i] = ((W[i - 16] as number) + s0 + (W[i - 7] as number) + s1) | 0
  }
  let a = hash[0] as number
  let b = hash[1] as number
  let c = hash[2] as number
  let d = hash[3] as number
  let e = hash[4] as number
  let f = hash[5] as number
  let g = hash[6] as number
  let h = hash[7] as number
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (K[i] as number) + (W[i] as number)) | 0
    const t2 = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  hash[0] = ((hash[0] as number) + a) | 0
  hash[1] = ((hash[1] as number) + b) | 0
  hash[2] = ((hash[2] as number) + c) | 0
  hash[3] = ((hash[3] as number) + d) | 0
  hash[4] = ((hash[4] as number) + e) | 0
  hash[5] = ((hash[5] as number) + f) | 0
  hash[6] = ((hash[6] as number) + g) | 0
  hash[7] = ((hash[7] as number) + h) | 0
}

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by))
