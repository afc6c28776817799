import { constants, createReadStream, type Stats } from 'node:fs'
import { access, open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { UserError, unreadable } from '../io.ts'

/** A log's bytes, decompressed, and the progress of reading. */
export interface Source {
  readonly name: string
  /** The same value for one file under two names. */
  readonly id: string
  /** Bytes on disk; undefined if unknown, as for standard input. */
  readonly size: number | undefined
  /** Starts at the beginning each time if `size` is known; otherwise it can be read once. */
  chunks(): AsyncGenerator<Buffer>
  /** Bytes read from disk so far. */
  readonly done: () => number
  /** The reason why the log ended early; undefined if it did not. */
  readonly broken: () => string | undefined
}

const CHUNK = 1 << 18

/** Opens a file, or standard input for `-`. Throws a UserError if it cannot be read. */
export async function openSource(path: string, stdin: AsyncIterable<Buffer>): Promise<Source> {
  if (path === '-') return sourceOf('standard input', '-', undefined, () => stdin)
  const stats = await readable(path)
  if (stats.isDirectory()) throw new UserError(`${path} is a directory: name the logs in it, such as ${path}/*.log.`)
  const id = idOf(stats)
  return stats.isFile()
    ? sourceOf(path, id, stats.size, () => readTo(path, stats.size, id))
    : sourceOf(path, id, undefined, () => createReadStream(path, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>)
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

class EndsEarly extends Error {}

function sourceOf(name: string, id: string, size: number | undefined, bytes: () => AsyncIterable<Buffer>): Source {
  let done = 0
  let broken: string | undefined
  async function* counted(): AsyncGenerator<Buffer> {
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
    async *chunks() {
      try {
        yield* unpacked(name, counted())
      } catch (error) {
        if (error instanceof UserError) throw error
        // A truncated compressed log is read as far as possible.
        const cut = error instanceof EndsEarly || /^Z_/.test((error as NodeJS.ErrnoException).code ?? '')
        if (!cut) throw unreadable(name, error)
        broken = (error as Error).message
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
async function* unpacked(name: string, chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer = Buffer.alloc(0)
  while (first.length < 4) {
    const { value, done } = await chunks.next()
    if (done) break
    first = Buffer.concat([first, value])
  }
  const magic = first.subarray(0, 4).toString('hex')
  const packed = Object.keys(PACKED).find((each) => magic.startsWith(each))
  if (packed !== undefined) {
    throw new UserError(`${name} is packed, and not by gzip: ${PACKED[packed]} ${name} | spillway … - reads it.`)
  }
  async function* all(): AsyncGenerator<Buffer> {
    if (first.length > 0) yield first
    yield* chunks
  }
  if (!magic.startsWith('1f8b')) {
    yield* all()
    return
  }
  const gunzip = createGunzip({ chunkSize: CHUNK })
  // An error of either stream destroys both, and is thrown to the reader.
  pipeline(all, gunzip, () => {})
  yield* gunzip as AsyncIterable<Buffer>
}
