const EQUALS = 61
const PERCENT = 37
const PLUS = 43

/** A pair such as `name=value`, by its positions in a text. */
export interface Pair {
  readonly name: string
  /** Where the value starts; negative without an equals sign. */
  readonly value: number
  readonly start: number
  readonly end: number
  /** The code of the separator before it, and of the one behind it; `NaN` at an end of the text. */
  readonly before: number
  readonly after: number
  /** Whether equals signs precede the name, which some parsers ignore. */
  readonly isLed: boolean
  /** Whether it has a character that may encode another: `%` or `+`. */
  readonly isEncoded: boolean
}

/** Calls back with each pair of a text, such as `a=1&b=2` by `&`; up to three separators. It visits each character once. */
export function eachPair(text: string, separators: string, visit: (pair: Pair) => void): void {
  const [one, two = one, three = one] = Array.from(separators, (each) => each.charCodeAt(0)) as [number]
  let before = Number.NaN
  for (let start = 0; start <= text.length; ) {
    const pair = pairAt(text, start, before, one, two, three)
    visit(pair)
    start = pair.end + 1
    before = pair.after
  }
}

function pairAt(text: string, start: number, before: number, one: number, two: number, three: number): Pair {
  let name = start
  let value = -1
  let isEncoded = false
  let at = start
  let after = Number.NaN
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === one || code === two || code === three) {
      after = code
      break
    }
    if (code === PERCENT || code === PLUS) isEncoded = true
    else if (code !== EQUALS || value >= 0) continue
    else if (at === name) name++
    else value = at + 1
  }
  const end = value < 0 ? at : value - 1
  return { name: text.slice(name, end), value, start, end: at, before, after, isLed: name > start, isEncoded }
}
