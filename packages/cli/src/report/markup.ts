const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Markup that is safe to stand in a page as it is. */
export interface Html {
  readonly html: string
}

type Part = Html | string | number | readonly Html[] | undefined | false

/** Builds markup; whatever is put in that is not markup itself is text, and comes out as text. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.map((string, i) => string + (i < parts.length ? shownPart(parts[i]) : '')).join('') }
}

function shownPart(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'object') return Array.isArray(part) ? part.map(({ html }) => html).join('') : (part as Html).html
  return String(part).replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}

/** Text that is markup already: styles, scripts and paths of our own making, never anything from a log. */
export const raw = (text: string): Html => ({ html: text })
