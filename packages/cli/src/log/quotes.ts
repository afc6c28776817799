/** Where the quote that closes the one at `open` is; a quote after a backslash does not close. Negative if there is none. */
export function closingQuote(line: string, open: number): number {
  let close = line.indexOf('"', open + 1)
  while (close > 0 && line.charCodeAt(close - 1) === 92 && isEscaped(line, close)) close = line.indexOf('"', close + 1)
  return close
}

function isEscaped(line: string, at: number): boolean {
  let slashes = 0
  while (line.charCodeAt(at - 1 - slashes) === 92) slashes++
  return slashes % 2 === 1
}

/** Quoted text without the backslashes of its quotes. */
export const unescaped = (text: string): string => (text.includes('\\') ? text.replace(/\\(["\\])/g, '$1') : text)
