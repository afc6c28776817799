import { EndsEarly, type Platform, type Source, sourceOf } from './source.ts'

/** A file that a visitor has chosen: a browser's `File` is one. */
export interface LogFile {
  readonly name: string
  /** Bytes. */
  readonly size: number
  stream(): ReadableStream<Uint8Array>
}

const WEB: Platform = {
  decoder: () => {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    return { write: (chunk) => decoder.decode(chunk, { stream: true }), end: () => decoder.decode() }
  },
  async *gunzip(bytes) {
    const source = bytes[Symbol.asyncIterator]()
    const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const { value, done } = await source.next()
        if (done) controller.close()
        else controller.enqueue(value as Uint8Array<ArrayBuffer>)
      },
    })
    try {
      yield* chunksOf(packed.pipeThrough(new DecompressionStream('gzip')))
    } catch (error) {
      // A DOMException is an error of the file.
      throw error instanceof DOMException ? error : new EndsEarly((error as Error).message)
    }
  },
}

/** A log in a browser. */
export const blobSource = (file: LogFile): Source =>
  sourceOf({ name: file.name, id: `${file.name}:${file.size}`, size: file.size }, () => chunksOf(file.stream()), WEB)

/** The chunks of a stream: not every browser can iterate over one. */
async function* chunksOf<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}
