/** The marks of a JSON text that tell where its names are. */
const MARKS = /\\.|["[\]{},]/g

/** A list or an object that is being read, and where: the index of an item, or the last name. */
interface Level {
  /** Undefined in a list. */
  readonly names: Set<string> | undefined
  at: number | string | undefined
}

/**
 * The path of the first name that an object of a valid JSON text has twice, such as `rules[0].match.path`: `JSON.parse` keeps
 * the last of them only. Undefined if there is none.
 */
export function duplicateIn(text: string): string | undefined {
  const levels: Level[] = []
  for (const token of tokensOf(text)) {
    const level = levels.at(-1)
    if (token === '{') levels.push({ names: new Set(), at: undefined })
    else if (token === '[') levels.push({ names: undefined, at: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (level !== undefined && isNamedTwice(level, token)) return pathOf(levels)
  }
  return undefined
}

/** The texts, brackets and commas of a JSON text. */
function* tokensOf(text: string): Generator<string> {
  let start: number | undefined
  for (const { 0: mark, index } of text.matchAll(MARKS)) {
    if (mark === '"') {
      if (start !== undefined) yield text.slice(start, index + 1)
      start = start === undefined ? index : undefined
    } else if (start === undefined) yield mark
  }
}

/** Reads a comma or a text. Returns whether it is a name that the object has had before. */
function isNamedTwice(level: Level, token: string): boolean {
  const { names, at } = level
  if (token === ',') level.at = typeof at === 'number' ? at + 1 : undefined
  if (token === ',' || names === undefined || at !== undefined) return false
  const name = JSON.parse(token) as string
  level.at = name
  const isKnown = names.has(name)
  names.add(name)
  return isKnown
}

const pathOf = (levels: readonly Level[]): string =>
  levels.map(({ at }, i) => (typeof at === 'number' ? `[${at}]` : i === 0 ? at : `.${at}`)).join('')
