/** A statement `app.use(rateLimit(options))`: its text, and that of its options, indented as if it began the line. */
export interface Statement {
  readonly text: string
  readonly options: string
}

const USE = /^app\.use\(\s*rateLimit\(/gm

/** The one statement that limits an app; undefined if the code has another one of the app, or several. */
export function useOf(code: string): Statement | undefined {
  const [found, ...more] = code.matchAll(USE)
  if (found === undefined || more.length > 0 || code.match(/\bapp\./g)?.length !== 1) return undefined
  const from = found.index + found[0].length
  const to = endOf(code, from)
  const [end = ''] = /^\),?\s*\)/.exec(code.slice(to)) ?? []
  if (end === '') return undefined
  const [indent = ''] = /(?<=\n) *$/.exec(found[0].slice(0, found[0].indexOf('rateLimit'))) ?? []
  const options = code.slice(from, to).replaceAll(`\n${indent}`, '\n')
  return { text: code.slice(found.index, to + end.length), options }
}

/** The place of the bracket that closes the one before `from`. Brackets in strings and comments do not count. */
function endOf(code: string, from: number): number {
  let depth = 1
  for (const { 0: part, index } of code.slice(from).matchAll(/\/\/.*|'[^'\n]*'|"[^"\n]*"|`[^`]*`|[()[\]{}]/g)) {
    if (part.length > 1) continue
    depth += '([{'.includes(part) ? 1 : -1
    if (depth === 0) return from + index
  }
  return code.length
}
