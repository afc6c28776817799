import { type Decision, type Duration, type Logger, micros, QuotaError, type RateLimiter } from '@spillway/core'
import { checkLogger, checkOptions, formatValue, withoutLink } from '@spillway/core/internal'
import { Denials } from './denials.ts'
import { pageHeaders, pageOf } from './page.ts'
import { Seal } from './seal.ts'

/** What an administrator does, reported before it is done. */
export interface AuditEvent {
  /** What is done to the key. */
  readonly action: 'reset' | 'block' | 'unblock'
  /** How long the key is blocked. Only of `'block'`. */
  readonly duration?: Duration
  /** The policies of the limiter, for which it is done. */
  readonly policies: readonly string[]
  /** The key, not masked. */
  readonly key: string
  /** The request, which `authorize` has accepted. */
  readonly request: Request
}

/** Options of `adminHandler`. */
export interface AdminOptions {
  /** The limiters, with the names, quotas and stores of those in force. Their policies' names must differ. */
  readonly limiters: readonly RateLimiter[]
  /** Whether a request may use the handler. Only `true`, or a promise of it, accepts; an error denies. */
  readonly authorize: (request: Request) => boolean | PromiseLike<boolean>
  /**
   * Called and awaited before a key is reset, blocked or unblocked. If it throws or rejects, nothing is changed.
   * @default none
   */
  readonly audit?: (event: AuditEvent) => unknown
  /**
   * How a key is shown.
   * @default the first and the last two characters
   */
  readonly mask?: (key: string) => string
  /**
   * A secret of 16 characters or more, the same in all processes that answer requests of one page.
   * @default random, for one process
   */
  readonly secret?: string
  /**
   * Where failures are logged, without keys.
   * @default `console`
   */
  readonly logger?: Logger
  /**
   * Returns the time in milliseconds since 1970, for tests.
   * @default `Date.now`
   */
  readonly clock?: () => number
}

/** A handler of requests, and what counts denials for it. */
export interface AdminHandler {
  /** Answers a request, at whatever path it is mounted. */
  (request: Request): Promise<Response>
  /** Counts a decision: pass it to `rateLimit` as `onDecision`, or call it with `{ decision }`. */
  onDecision(event: { readonly decision: Decision }): void
}

const OPTIONS = ['limiters', 'authorize', 'audit', 'mask', 'secret', 'logger', 'clock']
/** The longest body, in bytes. */
const MOST_BYTES = 64 * 1024
/** How many keys are listed. */
const LISTED = 50

const invalid = (message: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', `adminHandler: ${message}`)

/**
 * Builds an admin page and its JSON API as a function from Request to Response. Throws a `QuotaError` without `authorize`, or
 * if an option is invalid.
 */
export function adminHandler(options: AdminOptions): AdminHandler {
  checkOptions('adminHandler', options, OPTIONS)
  const { limiters, authorize, audit, mask = masked, secret, clock = Date.now } = options
  if (typeof authorize !== 'function') {
    throw invalid(
      `authorize must be a function that returns true for administrators, (request) => isAdmin(request); got ${formatValue(authorize)}.`,
    )
  }
  for (const [name, value] of Object.entries({ audit, mask, clock })) {
    if (value !== undefined && typeof value !== 'function') {
      throw invalid(`${name} must be a function; got ${formatValue(value)}.`)
    }
  }
  if ('secret' in options && (typeof secret !== 'string' || secret.length < 16)) {
    throw invalid('secret must be text of 16 characters or more: is its environment variable set?')
  }
  const byPolicy = limitersByPolicy(limiters)
  const logger = checkLogger(options.logger)
  const denials = new Denials(clock)
  const seal = new Seal(secret)

  const stateOf = async (): Promise<Response> => {
    const policies = limiters.flatMap(({ policies, canBlock }) => policies.map((policy) => ({ ...policy, canBlock })))
    return json(200, { policies, denials: denials.lastHour(), token: await seal.token() })
  }
  const keysOf = async (query: URLSearchParams): Promise<Response> => {
    const policy = query.get('policy') ?? ''
    const limiter = byPolicy.get(policy)
    if (limiter === undefined) return json(404, { error: 'there is no such policy' })
    const [limited, blocked] = [query.get('limited') === 'true', query.get('blocked') === 'true']
    const list = await limiter.list({ policy, limit: LISTED, limited, blocked })
    const keys = list.keys.map(async ({ key, isDigest, decision, blockedMs = null }) => {
      const { limit, remaining, retryAfterMs, resetAfterMs } = decision
      const ref = isDigest ? null : await seal.seal({ policy, key })
      const times = { retryAfterMs, resetAfterMs, blockedMs }
      return { key: isDigest ? 'digest' : mask(key), ref, isDigest, limit, remaining, ...times }
    })
    return json(200, { ...list, keys: await Promise.all(keys) })
  }
  const changeKey = async (action: AuditEvent['action'], request: Request, body: string): Promise<Response> => {
    const { ref, policy, key, confirm, duration } = objectIn(body)
    if (confirm !== true) return json(400, { error: 'confirm must be true' })
    const target = typeof ref === 'string' ? await seal.open(ref) : { policy, key }
    const limiter = byPolicy.get(target?.policy as string)
    if (limiter === undefined || typeof target?.key !== 'string' || target.key === '') {
      return json(404, { error: 'there is no such key or policy; list the keys again' })
    }
    const policies = limiter.policies.map(({ name }) => name)
    const problem = problemOf(action, limiter, duration)
    if (problem !== undefined) return json(400, { error: problem })
    const event = { action, policies, key: target.key, request }
    await audit?.(action === 'block' ? { ...event, duration: duration as Duration } : event)
    if (action === 'reset') return json(200, { reset: await limiter.reset(target.key) })
    await (action === 'block' ? limiter.block(target.key, duration as Duration) : limiter.unblock(target.key))
    return json(200, { [action]: true })
  }
  const change = async (request: Request, body: Request, api: string | null): Promise<Response> => {
    if (api !== 'reset' && api !== 'block' && api !== 'unblock') return json(405, { error: 'use GET' })
    const reason = await crossSite(request, await seal.token())
    if (reason !== undefined) return json(403, { error: reason })
    const text = await textIn(body)
    return text === undefined ? json(413, { error: 'the body is too long' }) : changeKey(api, request, text)
  }
  const answer = async (request: Request, body: Request | undefined): Promise<Response> => {
    const query = new URL(request.url).searchParams
    const api = query.get('api')
    if (body !== undefined) return change(request, body, api)
    if (request.method !== 'GET' && request.method !== 'HEAD') return json(405, { error: 'use GET or POST' })
    if (api === 'state') return stateOf()
    if (api === 'keys') return keysOf(query)
    if (api !== null) return json(404, { error: 'there is no such call' })
    const nonce = crypto.randomUUID()
    return respond(200, pageOf(nonce), pageHeaders(nonce))
  }
  const handler = async (request: Request): Promise<Response> => {
    try {
      // `authorize` may read the body.
      const body = request.method === 'POST' ? request.clone() : undefined
      if (!(await isAuthorized(authorize, request, logger))) return json(403, { error: 'not authorized' })
      return await answer(request, body)
    } catch (error) {
      // Messages may have keys in them.
      logger.warn(`spillway: the admin handler failed: ${kindOf(error)}`)
      return json(500, { error: 'it failed; the log of the server says why' })
    }
  }
  return Object.assign(handler, { onDecision: ({ decision }: { decision: Decision }) => denials.count(decision) })
}

/** Why a limiter cannot do this; undefined if it can. */
function problemOf(action: AuditEvent['action'], { canBlock }: RateLimiter, duration: unknown): string | undefined {
  if (action === 'reset') return undefined
  if (!canBlock) return 'this limiter cannot block keys: build it with blocks: true'
  if (action === 'unblock') return undefined
  try {
    micros(duration as Duration, 'the duration')
    return undefined
  } catch (error) {
    return withoutLink((error as Error).message)
  }
}

function limitersByPolicy(limiters: unknown): ReadonlyMap<string, RateLimiter> {
  if (!Array.isArray(limiters) || limiters.length === 0)
    throw invalid('limiters must be a list of one limiter or more.')
  const byPolicy = new Map<string, RateLimiter>()
  for (const limiter of limiters as readonly Partial<RateLimiter>[]) {
    if (!Array.isArray(limiter?.policies))
      throw invalid(`limiters must be built by rateLimiter; got ${formatValue(limiter)}.`)
    for (const { name } of (limiter as RateLimiter).policies) {
      if (byPolicy.has(name)) throw invalid(`two policies are named ${formatValue(name)}.`)
      byPolicy.set(name, limiter as RateLimiter)
    }
  }
  return byPolicy
}

async function isAuthorized(authorize: AdminOptions['authorize'], request: Request, logger: Logger): Promise<boolean> {
  try {
    return (await authorize(request)) === true
  } catch (error) {
    logger.warn(`spillway: authorize of the admin handler threw: ${kindOf(error)}`)
    return false
  }
}

/** Why a request to change something may come from another site; undefined if it does not. */
async function crossSite({ headers, url }: Request, token: string): Promise<string | undefined> {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return 'the request comes from another site'
  const origin = headers.get('origin')
  // Behind a proxy that ends TLS, the scheme differs.
  if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== new URL(url).host)) {
    return 'the request comes from another origin'
  }
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? '')) return 'the body must be application/json'
  return headers.get('x-spillway-token') === token ? undefined : 'the token is missing or old; load the page again'
}

/** The text of a body; undefined if it is too long. */
async function textIn({ body }: Request): Promise<string | undefined> {
  const reader = body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.byteLength
    if (bytes > MOST_BYTES) {
      // Not awaited: it ends only when the original of the clone is cancelled, too.
      void reader.cancel().catch(() => {})
      return undefined
    }
    text += decoder.decode(read.value, { stream: true })
  }
  return text
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

const kindOf = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${'code' in error ? String(error.code) : ''}`.trim() : 'no error'

const masked = (key: string): string => (key.length < 8 ? '••••' : `${key.slice(0, 2)}…${key.slice(-2)}`)

const json = (status: number, value: unknown): Response =>
  respond(status, JSON.stringify(value), { 'content-type': 'application/json' })

const respond = (status: number, body: string, headers: Record<string, string>): Response =>
  new Response(body, {
    status,
    headers: {
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      ...headers,
    },
  })
