import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { setImmediate } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { UserError, unreadable } from '../io.ts'
import { EndsEarly, type Platform, type Source, sourceOf } from './source.ts'

// Decoded, it fits into the young generation: a longer text takes new pages of memory, and a fifth more time.
const CHUNK = 1 << 16

const NODE: Platform = {
  // Five times as fast as a TextDecoder.
  decoder: () => new StringDecoder('utf8'),
  async *gunzip(bytes) {
    const gunzip = createGunzip({ chunkSize: CHUNK })
    // An error of either stream destroys both, and is thrown to the reader.
    pipeline(copiesOf(bytes), gunzip, () => {})
    try {
      yield* gunzip as AsyncIterable<Buffer>
    } catch (error) {
      const isInvalid = /^Z_/.test((error as NodeJS.ErrnoException).code ?? '')
      throw isInvalid ? new EndsEarly((error as Error).message) : error
    }
  },
}

/** Chunks that remain valid while others are read: a stream reads ahead. */
async function* copiesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield Buffer.from(chunk)
}

/** Opens a file, or standard input for `-`. Throws a UserError if it cannot be read. */
export async function openSource(path: string, stdin: AsyncIterable<Buffer>): Promise<Source> {
  if (path === '-') return sourceOf({ name: 'standard input', id: '-', size: undefined }, () => stdin, NODE)
  const stats = await readable(path)
  if (stats.isDirectory()) throw new UserError(`${path} is a directory: name the logs in it, such as ${path}/*.log.`)
  const id = idOf(stats)
  const stream = (): AsyncIterable<Buffer> => createReadStream(path, { highWaterMark: CHUNK })
  return stats.isFile()
    ? sourceOf({ name: path, id, size: stats.size }, () => readTo(path, stats.size, id), NODE)
    : sourceOf({ name: path, id, size: undefined }, stream, NODE)
}

async function readable(path: string): Promise<Stats> {
  try {
    await access(path, constants.R_OK)
    return await stat(path)
  } catch (error) {
    throw unreadable(path, error)
  }
}

const idOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`

/**
 * Reads a log as it was when opened: it may grow while it is read, but must neither shrink nor be replaced. A chunk is valid
 * until the next one is read: new memory for each takes longer to prepare than the file to read.
 */
async function* readTo(path: string, size: number, id: string): AsyncGenerator<Buffer> {
  if (size === 0) return
  const file = openSync(path, 'r')
  try {
    if (idOf(fstatSync(file)) !== id) throw new EndsEarly('it was replaced while it was read')
    const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK, size))
    for (let read = 0; read < size; ) {
      // A chunk is read sooner than another thread would wake up for it.
      const length = readSync(file, chunk, 0, Math.min(CHUNK, size - read), null)
      if (length === 0) throw new EndsEarly('it was truncated while it was read')
      read += length
      yield chunk.subarray(0, length)
      // What is written meanwhile, such as denials, needs turns of the event loop.
      await setImmediate()
    }
  } finally {
    closeSync(file)
  }
}
