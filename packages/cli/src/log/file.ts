import { constants, createReadStream, type Stats } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
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
    pipeline(bytes, gunzip, () => {})
    try {
      yield* gunzip as AsyncIterable<Buffer>
    } catch (error) {
      const isInvalid = /^Z_/.test((error as NodeJS.ErrnoException).code ?? '')
      throw isInvalid ? new EndsEarly((error as Error).message) : error
    }
  },
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

/** Reads a log as it was when opened: it may grow while it is read, but must neither shrink nor be replaced. */
async function* readTo(path: string, size: number, id: string): AsyncGenerator<Buffer> {
  if (size === 0) return
  const handle = await open(path)
  if (idOf(await handle.stat()) !== id) {
    await handle.close()
    throw new EndsEarly('it was replaced while it was read')
  }
  let read = 0
  for await (const chunk of handle.createReadStream({ highWaterMark: CHUNK, end: size - 1 })) {
    read += (chunk as Buffer).length
    yield chunk as Buffer
  }
  if (read < size) throw new EndsEarly('it was truncated while it was read')
}
