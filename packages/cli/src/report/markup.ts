const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Markup that is safe to insert into a page. */
export interface Html {
  readonly html: string
}

type Part = Html | string | number | readonly Html[] | undefined | false

/** Builds markup. Inserted values that are not markup are escaped. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.map((string, i) => string + (i < parts.length ? shownPart(parts[i]) : '')).join('') }
}

function shownPart(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'object') return Array.isArray(part) ? part.map(({ html }) => html).join('') : (part as Html).html
  return String(part).replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}

/** Marks text as markup: only the program's own styles, scripts and paths, never text from a log. */
export const raw = (text: string): Html => ({ html: text })
