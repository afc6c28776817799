import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Overflow } from './spool.ts'

const BYTES = Float64Array.BYTES_PER_ELEMENT

/** Numbers in a temporary file, which `close` deletes. */
export function temporaryFile(): Overflow {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-suggest-'))
  const descriptor = openSync(join(folder, 'requests'), 'w+')
  let written = 0
  return {
    append: (values) => {
      written += writeSync(descriptor, values, 0, values.byteLength, written)
    },
    read: (chunk, from) => readSync(descriptor, chunk, 0, chunk.byteLength, from * BYTES) / BYTES,
    close: () => {
      closeSync(descriptor)
      rmSync(folder, { recursive: true })
    },
  }
}
