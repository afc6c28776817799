import type { Decoder } from './source.ts'

/** The longest line. The rest of a longer one is skipped. */
const LONGEST_LINE = 1 << 20
/** The characters of an overlong line that are reported. */
const SHOWN = 200

const TOO_LONG = 'it is longer than a megabyte'
const RETURNS = 'it has carriage returns within: end its lines with line feeds'
/** Servers escape a carriage return in a request: one that is not at the end of a line has ended another. */
const RETURN_WITHIN = /\r[^\r]/

/**
 * Receives a line without its end, and its number in the file, from 1, and why it is invalid, if it is. An overlong line is
 * truncated.
 */
export type OnLine = (line: string, number: number, problem: string | undefined) => void

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
  /** Whether the text that is split has carriage returns: to look once takes less time than to look in each line. */
  let returns = false
  const give = (line: string): void => {
    number++
    if (skipping) skipping = false
    else if (line.length > LONGEST_LINE) onLine(line.slice(0, SHOWN), number, TOO_LONG)
    else if (line !== '') {
      const problem = returns && RETURN_WITHIN.test(line) ? RETURNS : undefined
      onLine(number === 1 && line.startsWith('\ufeff') ? line.slice(1) : line, number, problem)
    }
  }
  return {
    write(chunk) {
      const text = decoder.write(chunk)
      let start = 0
      // Only the first line is joined with the rest: to join the whole text would copy it.
      if (rest !== '' && text.includes('\n')) {
        start = text.indexOf('\n') + 1
        const line = rest + text.slice(0, start - 1)
        rest = ''
        returns = line.includes('\r')
        give(line.endsWith('\r') ? line.slice(0, -1) : line)
      }
      returns = text.includes('\r', start)
      for (let end = text.indexOf('\n', start); end >= 0; end = text.indexOf('\n', start)) {
        give(text.slice(start, text.charCodeAt(end - 1) === 13 ? Math.max(end - 1, start) : end))
        start = end + 1
      }
      rest += text.slice(start)
      if (rest.length <= LONGEST_LINE) return
      if (!skipping) onLine(rest.slice(0, SHOWN), number + 1, TOO_LONG)
      skipping = true
      rest = ''
    },
    end() {
      const last = rest + decoder.end()
      rest = ''
      returns = last.includes('\r')
      if (last !== '') give(last)
    },
  }
}
