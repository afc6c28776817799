/**
 * Ranks the page that answers a search first. Its source is sent to the browser, so it names nothing outside of itself.
 * `id` is the address of a section.
 */
export function boostDocument(id: string, term: string): number {
  const answers: Record<string, string> = {
    nestjs: '/migration/nestjs-throttler',
    throttle: '/migration/nestjs-throttler',
    brute: '/examples/login',
    force: '/examples/login',
    migrate: '/migration/express-rate-limit',
    '429': '/guides/troubleshooting',
    forwarded: '/guides/keys',
    pm2: '/guides/stores',
    cors: '/guides/cors',
    nextjs: '/examples/meta-frameworks',
    ddos: '/faq',
    comparison: '/comparison',
    allowlist: '/guides/keys',
    whitelist: '/guides/keys',
    burst: '/algorithms',
    quota: '/glossary',
    down: '/guides/failure',
    llm: '/examples/llm-tokens',
  }
  const page = answers[term.toLowerCase()]
  // Of `/guides/keys`, not of `/guides/keys-edge-cases`.
  if (page === undefined || !new RegExp(`${page}(?![-a-z])`).test(id)) return 1
  // A word that is nearly the same, such as NestJS, is in the titles of pages.
  return term.toLowerCase() === 'nextjs' ? 200 : 50
}

/** What visitors search for, in the words that pages may lack. */
const TERMS = [
  ...['nestjs', 'throttle', 'brute', 'force', 'migrate', '429', 'forwarded', 'PM2', 'CORS'],
  ...['nextjs', 'DDoS', 'comparison', 'allowlist', 'whitelist', 'burst', 'quota', 'down', 'LLM'],
]

/** The searched words that a page answers, by its path on the site: they are added to its index. */
export const wordsOf = (place: string): string =>
  TERMS.filter((term) => boostDocument(`/${place}`, term) > 1).join(', ')
