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
  const opened: Readonly<Record<string, (token: Token, at: number) => void>> = {
    thead_open: () => {
      labels = []
    },
    tr_open: () => {
      column = 0
    },
    th_open: (_, at) => {
      const label = plain(tokens[at + 1]?.content ?? '')
      labels.push(label)
      if (label === '') unlabel(tokens, at)
    },
    td_open: (token) => {
      const label = labels[column++]
      if (label) token.attrSet('data-label', label)
    },
  }
  for (const [i, token] of tokens.entries()) opened[token.type]?.(token, i)
}
