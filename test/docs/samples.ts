/** A piece of code that a document shows, where it stands, and what it takes for granted. */
export interface Sample {
  readonly document: string
  /** The line of the document that its first line stands on, counted from 1. */
  readonly line: number
  readonly code: string
  /** The name of its prelude, if it has one. */
  readonly prelude: string | undefined
}

const FENCE = /^(\s*)(```+)\s*(\S*)/
const DIRECTIVE = /^\s*<!-- sample: (\S+) -->\s*$/

/** The code blocks of a Markdown document that are tagged `ts`; `<!-- sample: NAME -->` above one names its prelude. */
export function samplesOfMarkdown(document: string, text: string): readonly Sample[] {
  const samples: Sample[] = []
  const lines = text.split('\n')
  let prelude: string | undefined
  for (let i = 0; i < lines.length; i++) {
    const [, indent = '', fence, language] = FENCE.exec(lines[i] as string) ?? []
    const tagged = language === 'ts'
    if (prelude !== undefined && !tagged) throw new Error(`${document}:${i} names a prelude for no \`\`\`ts block`)
    if (fence === undefined) {
      prelude = DIRECTIVE.exec(lines[i] as string)?.[1]
      continue
    }
    const end = lines.findIndex((line, j) => j > i && line.trim() === fence)
    if (end < 0) throw new Error(`${document}:${i + 1} opens a code block that nothing closes`)
    const body = lines.slice(i + 1, end).map((line) => line.replace(indent, ''))
    if (tagged) samples.push({ document, line: i + 2, code: body.join('\n'), prelude })
    prelude = undefined
    i = end
  }
  return samples
}

/** The `@example` blocks of doc comments. A package's own prelude goes before each. */
export function samplesOfSource(document: string, text: string): readonly Sample[] {
  const samples: Sample[] = []
  const prelude = document.split('/')[1]
  const lines = text.split('\n')
  for (let i = 0; i < lines.length; i++) {
    if (!/^\s*\* @example\s*$/.test(lines[i] as string)) continue
    const end = lines.findIndex((line, j) => j > i && /^\s*(\*\/|\* @\w)/.test(line))
    const body = lines.slice(i + 1, end).map((line) => line.replace(/^\s*\* ?(```\w*$)?/, ''))
    samples.push({ document, line: i + 2, code: body.join('\n'), prelude })
  }
  return samples
}
