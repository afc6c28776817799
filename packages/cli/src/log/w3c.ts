import type { Parse } from './entry.ts'
import { type Layout, layoutOf, type Part } from './layout.ts'

/** The fields of CloudFront's standard logs that a log without `#Fields` has. */
const DEFAULT =
  'date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie)'

const PARTS: Readonly<Record<string, Part>> = {
  date: 'date',
  time: 'time',
  'c-ip': 'ip',
  'cs-method': 'method',
  'cs-uri-stem': 'path',
  'cs-uri-query': 'query',
  'sc-status': 'status',
  'time-taken': 'took:s',
  'x-forwarded-for': 'header:x-forwarded-for',
}

const partOf = (field: string): Part => {
  const [, header] = /^cs\((.+)\)$/.exec(field) ?? []
  return header === undefined ? (PARTS[field] ?? '') : `header:${header.toLowerCase()}`
}

/** Reads a line of values by the fields of a directive. */
function layoutFrom(fields: string): (line: string) => ReturnType<Layout> {
  const parts = fields.trim().split(/\s+/).map(partOf)
  const entryOf = layoutOf(parts, decoded)
  return (line) => {
    const texts: string[] = []
    let start = 0
    for (const part of parts) {
      const tab = line.indexOf('\t', start)
      const end = tab < 0 ? line.length : tab
      texts.push(part === '' ? '' : line.slice(start, end))
      if (tab < 0) break
      start = tab + 1
    }
    return entryOf(texts)
  }
}

/** Reads the W3C extended format of CloudFront: tabs between values, directives that begin with `#`. */
export function w3cParser(): Parse {
  let entryOf = layoutFrom(DEFAULT)
  return (line) => {
    if (!line.startsWith('#')) return entryOf(line)
    const [, directive = '', value = ''] = /^#([A-Za-z-]+): ?(.*)$/.exec(line) ?? []
    if (directive === '') return 'it begins with #, and is no directive such as #Fields:'
    if (directive === 'Fields') entryOf = layoutFrom(value)
    return undefined
  }
}

/** CloudFront encodes what may not be in a value. */
function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
