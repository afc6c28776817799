import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** A log's bytes, unpacked where they were packed, and how far they have been read. */
export interface Source {
  readonly name: string
  /** Bytes on disk; undefined where that is not known, as of standard input. */
  readonly size: number | undefined
  chunks(): AsyncIterable<Buffer>
  /** Bytes read from disk so far. */
  readonly done: () => number
  /** What ended the log too early, if anything did. */
  readonly broken: () => string | undefined
}

const CHUNK = 1 << 18

/** Opens a file, or standard input for `-`. Throws where there is none. */
export async function openSource(path: string, stdin: AsyncIterable<Buffer>): Promise<Source> {
  const size = path === '-' ? undefined : (await stat(path)).size
  let done = 0
  let broken: string | undefined
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of path === '-' ? stdin : createReadStream(path, { highWaterMark: CHUNK })) {
      done += chunk.length
      yield chunk as Buffer
    }
  }
  return {
    name: path === '-' ? 'standard input' : path,
    size,
    async *chunks() {
      try {
        yield* unpacked(counted())
      } catch (error) {
        // A packed log that was cut off is good up to there.
        if (!/^Z_/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
        broken = (error as Error).message
      }
    },
    done: () => done,
    broken: () => broken,
  }
}

/** Tells gzip by its first two bytes, whatever the name. */
async function* unpacked(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer = Buffer.alloc(0)
  while (first.length < 2) {
    const { value, done } = await chunks.next()
    if (done) break
    first = Buffer.concat([first, value])
  }
  async function* all(): AsyncGenerator<Buffer> {
    if (first.length > 0) yield first
    yield* chunks
  }
  if (first[0] !== 0x1f || first[1] !== 0x8b) {
    yield* all()
    return
  }
  const gunzip = createGunzip({ chunkSize: CHUNK })
  // An error on either side ends both, and is thrown to whoever reads.
  pipeline(all, gunzip, () => {})
  yield* gunzip as AsyncIterable<Buffer>
}
