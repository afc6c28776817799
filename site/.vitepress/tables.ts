// Tables that can be read on a phone: each cell knows the heading of its column.

/** The parts of a token of markdown-it that are read here. */
export interface Token {
  type: string
  tag: string
  content: string
  attrSet(name: string, value: string): void
}

const plain = (text: string): string => text.replace(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1').trim()

/** Makes a heading without a text a cell: it is no heading to a screen reader. */
function unlabel(tokens: readonly Token[], at: number): void {
  const end = tokens.slice(at).find(({ type }) => type === 'th_close')
  for (const token of [tokens[at], end]) if (token !== undefined) token.tag = 'td'
}

/** Labels the cells of tables with the headings of their columns. */
export function labelCells(tokens: readonly Token[]): void {
  let labels: string[] = []
  let column = 0
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'thead_open') labels = []
    else if (token.type === 'tr_open') column = 0
    else if (token.type === 'th_open') {
      const label = plain(tokens[i + 1]?.content ?? '')
      labels.push(label)
      if (label === '') unlabel(tokens, i)
    } else if (token.type === 'td_open') {
      const label = labels[column++]
      if (label) token.attrSet('data-label', label)
    }
  }
}
