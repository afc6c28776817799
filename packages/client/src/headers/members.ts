/** A name, and what follows its `=`; empty if nothing does. */
export interface Part {
  readonly name: string
  readonly value: string
}

/** A member of a list or dictionary, with its parameters. */
export interface Member extends Part {
  readonly parameters: readonly Part[]
}

/** The most characters of a field that are read: a list of a few policies has some hundred. */
const MOST_CHARACTERS = 4_000
/** A string that does not end takes all that follows. */
const TOKENS = /"(?:[^"\\]|\\.)*"?|[,;=]|[^",;=\s]+/g

/**
 * The members of a structured field (RFC 9651), `"default";q=100;w=60, "day";q=1000`, or of what older drafts have: `100;w=60`
 * and `limit=100, remaining=50`. Whatever a partner sends, it returns members, which may be of no use.
 */
export function membersOf(text: string): readonly Member[] {
  const members: string[][][] = [[[]]]
  for (const token of text.slice(0, MOST_CHARACTERS).match(TOKENS) ?? []) {
    if (token === ',') members.push([[]])
    else if (token === ';') members.at(-1)?.push([])
    else members.at(-1)?.at(-1)?.push(token)
  }
  return members.map((parts) => {
    const [first = part([]), ...parameters] = parts.map(part)
    return { ...first, parameters }
  })
}

const part = ([name = '', , ...value]: readonly string[]): Part => ({
  name: unquoted(name),
  value: unquoted(value.join('')),
})

const unquoted = (text: string): string => (text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text)

/** The number of a parameter; undefined without it, or if it is none. */
export const numberOf = (parts: readonly Part[], name: string): number | undefined =>
  count(parts.find((each) => each.name === name)?.value)

/** A number that is not negative, and not larger than structured fields have; undefined for any other text. */
export const count = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Number(text) : undefined
