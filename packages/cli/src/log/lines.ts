import type { Decoder } from './source.ts'

/** The longest line. The rest of a longer one is skipped. */
const LONGEST_LINE = 1 << 20
/** The characters of an overlong line that are reported. */
const SHOWN = 200

/**
 * Receives a line without its end, and its number in the file, from 1. An overlong line is truncated, with `tooLong`.
 */
export type OnLine = (line: string, number: number, tooLong: boolean) => void

/** Processes chunks of bytes; call `end` after the last one. */
export interface LineSplitter {
  write(chunk: Uint8Array): void
  end(): void
}

/** Splits bytes into lines. Empty lines are numbered and skipped. */
export function lineSplitter(decoder: Decoder, onLine: OnLine): LineSplitter {
  let number = 0
  let rest = ''
  let skipping = false
  const give = (line: string): void => {
    number++
    if (skipping) skipping = false
    else if (line.length > LONGEST_LINE) onLine(line.slice(0, SHOWN), number, true)
    else if (line !== '') onLine(number === 1 && line.startsWith('\ufeff') ? line.slice(1) : line, number, false)
  }
  return {
    write(chunk) {
      const text = rest + decoder.write(chunk)
      let start = 0
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
        give(text.slice(start, text.charCodeAt(end - 1) === 13 ? Math.max(end - 1, start) : end))
        start = end + 1
      }
      rest = text.slice(start)
      if (rest.length <= LONGEST_LINE) return
      if (!skipping) onLine(rest.slice(0, SHOWN), number + 1, true)
      skipping = true
      rest = ''
    },
    end() {
      const last = rest + decoder.end()
      rest = ''
      if (last !== '') give(last)
    },
  }
}
