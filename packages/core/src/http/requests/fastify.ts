/** The part of a Fastify request that is read. */
export interface FastifyLike {
  readonly url?: string
  readonly server?: {
    readonly version?: string
    readonly initialConfig?: object
  }
}

interface RouterOptions {
  readonly useSemicolonDelimiter?: boolean
  readonly routerOptions?: RouterOptions
}

const QUERY_OR_FRAGMENT = /[?#]/
const SEMICOLON_TOO = /[?#;]/

/** Read again only for another target: Nest's path is read for patterns without its prefix, too. */
let last = { url: '', ends: QUERY_OR_FRAGMENT, path: '/' }

/**
 * The path as Fastify's router reads it. The target may end in a fragment. The router compares all characters but the first:
 * `*login` is `/login`. The target may also be a whole URL: of `http://a?b/c`, older versions read `/c`.
 */
export function fastifyPath({ url = '', server }: FastifyLike): string | readonly string[] {
  const ends = endsAtSemicolon(server) ? SEMICOLON_TOO : QUERY_OR_FRAGMENT
  const pathOf = (target: string): string => `/${target.slice(1).split(ends, 1)[0]}`
  if (url.startsWith('/')) {
    if (url !== last.url || ends !== last.ends) last = { url, ends, path: pathOf(url) }
    return last.path
  }
  return [/^https?:\/\/[^/?]*\/?/i, /^https?:\/\/.*?\//].map((origin) => pathOf(url.replace(origin, '/')))
}

/** Fastify 4, which Nest 10 has, ends the path at a semicolon, unless its later versions are set not to. */
function endsAtSemicolon({ version = '', initialConfig }: FastifyLike['server'] = {}): boolean {
  const { useSemicolonDelimiter: own, routerOptions }: RouterOptions = initialConfig ?? {}
  return own || (routerOptions?.useSemicolonDelimiter ?? (own === undefined && version.startsWith('4.')))
}

const FORGERIES = 64
const FORGED_ADDRESS = '192.0.2.1' // an address reserved for documentation

/** A request whose addresses are all forged: how many of them Fastify trusts reveals the app's proxy settings. */
const FORGED: object = /* @__PURE__ */ forgery()

function forgery(): object {
  const forwarded = Array(FORGERIES).fill(FORGED_ADDRESS).join()
  return { raw: { socket: { remoteAddress: FORGED_ADDRESS }, headers: { 'x-forwarded-for': forwarded } } }
}

/** Whether Fastify trusts any address that a client writes into `X-Forwarded-For`. */
export const fastifyTrustsEveryProxy = (request: object): boolean =>
  (Reflect.get(request, 'ips', FORGED)?.length ?? 0) > FORGERIES
