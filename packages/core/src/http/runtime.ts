/** What is read of a fetch `Request`. */
interface FetchRequest {
  readonly headers: { get(name: string): string | null }
}

/** What runtimes hand to a fetch handler beside the request: Hono's Node server, Deno, and Bun. */
interface Beside {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } }
  readonly remoteAddr?: { readonly hostname?: string }
  readonly requestIP?: (request: unknown) => { readonly address: string } | null
  readonly server?: Beside | null
}

// Every runtime that is Workers has it, though no ECMAScript library declares it.
declare const navigator: { readonly userAgent?: string } | undefined

/**
 * The address at the other end of a fetch request's connection; undefined where the runtime does not tell. Bun, Deno
 * and Node tell it by what they hand over `beside` the request. Workers have no connections, and tell it by a header
 * that Cloudflare overwrites in whatever comes from outside: it is believed there and nowhere else.
 */
export function connectionAddress(request: FetchRequest, beside: unknown): string | undefined {
  if (typeof navigator !== 'undefined' && navigator.userAgent === 'Cloudflare-Workers') {
    return request.headers.get('cf-connecting-ip') ?? undefined
  }
  if (typeof beside !== 'object' || beside === null) return undefined
  const { incoming, remoteAddr, server = beside as Beside } = beside as Beside
  if (typeof server?.requestIP === 'function') return server.requestIP(request)?.address
  return incoming?.socket?.remoteAddress ?? remoteAddr?.hostname
}
