import type { RulePolicy } from '@spillway/core/rules'

/**
 * A key as people write it: of a policy with several selectors, the parts with a space between, as `inspect` takes them. A
 * part that is empty or has spaces is in quotes.
 */
export const keyText = (selectors: RulePolicy['key'], key: string): string =>
  typeof selectors === 'string' || selectors.length === 1 ? key : partsOf(key).map(quotedIfSpaced).join(' ')

const quotedIfSpaced = (part: string): string => (part === '' || /[\s"]/.test(part) ? JSON.stringify(part) : part)

/** The parts of a composite key, each of which follows its length: `1:a2:bc`. */
function partsOf(key: string): readonly string[] {
  const parts: string[] = []
  for (let at = 0; at < key.length; ) {
    const colon = key.indexOf(':', at)
    const start = colon + 1
    const end = start + Number(key.slice(at, colon))
    parts.push(key.slice(start, end))
    at = end
  }
  return parts
}
