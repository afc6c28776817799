import { UserError, unreadable } from '../io.ts'

/** Converts bytes to text, in chunks that may end within a character. */
export interface Decoder {
  write(chunk: Uint8Array): string
  end(): string
}

/** A log's bytes, decompressed, and the progress of reading. */
export interface Source {
  readonly name: string
  /** The same value for one file under two names. */
  readonly id: string
  /** Bytes on disk; undefined if unknown, as for standard input. */
  readonly size: number | undefined
  /**
   * Starts at the beginning each time if `size` is known; otherwise it can be read once. A chunk is valid until the next
   * one is read.
   */
  chunks(): AsyncGenerator<Uint8Array>
  decoder(): Decoder
  /** Bytes read from disk so far. */
  readonly done: () => number
  /** The reason why the log ended early; undefined if it did not. */
  readonly broken: () => string | undefined
}

/** What a platform has for reading: Node, or a browser. */
export interface Platform {
  decoder(): Decoder
  /** Decompresses gzip. Throws `EndsEarly` if the bytes are invalid. */
  gunzip(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
}

/** The error for a log whose end is missing: it is read as far as possible. */
export class EndsEarly extends Error {}

export function sourceOf(
  { name, id, size }: Pick<Source, 'name' | 'id' | 'size'>,
  bytes: () => AsyncIterable<Uint8Array>,
  { decoder, gunzip }: Platform,
): Source {
  let done = 0
  let broken: string | undefined
  async function* counted(): AsyncGenerator<Uint8Array> {
    done = 0
    for await (const chunk of bytes()) {
      done += chunk.length
      yield chunk
    }
  }
  return {
    name,
    id,
    size,
    decoder,
    async *chunks() {
      try {
        yield* unpacked(name, counted(), gunzip)
      } catch (error) {
        if (error instanceof UserError) throw error
        if (!(error instanceof EndsEarly)) throw unreadable(name, error)
        broken = error.message
      }
    },
    done: () => done,
    broken: () => broken,
  }
}

/** Compression formats that need another program, by their first bytes in hexadecimal. */
const PACKED: Readonly<Record<string, string>> = {
  '28b52ffd': 'zstdcat',
  fd377a58: 'xzcat',
  '425a68': 'bzcat',
  '504b0304': 'unzip -p',
}

/** Detects gzip by its first two bytes, whatever the name. */
async function* unpacked(
  name: string,
  chunks: AsyncGenerator<Uint8Array>,
  gunzip: Platform['gunzip'],
): AsyncGenerator<Uint8Array> {
  let first: Uint8Array = new Uint8Array()
  while (first.length < 4) {
    const { value, done } = await chunks.next()
    if (done) break
    first = joined(first, value)
  }
  const magic = Array.from(first.subarray(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const packed = Object.keys(PACKED).find((each) => magic.startsWith(each))
  if (packed !== undefined) {
    throw new UserError(`${name} is packed, and not by gzip: ${PACKED[packed]} ${name} | spillway … - reads it.`)
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    if (first.length > 0) yield first
    yield* chunks
  }
  yield* magic.startsWith('1f8b') ? gunzip(all()) : all()
}

export function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
