import { type Decision, type Duration, type Logger, micros, QuotaError, type RateLimiter } from '@spillway/core'
import { heldSlots } from '@spillway/core/in-flight'
import { formatValue, hasMethod, withoutLink } from '@spillway/core/internal'
import { Denials } from './denials.ts'
import { type AdminOptions, type AuditEvent, checkedOptions } from './options.ts'
import { pageHeaders, pageOf } from './page.ts'
import { crossSite, type Members, membersIn, textIn } from './request.ts'
import { Seal } from './seal.ts'

/** A handler of requests, and what counts denials for it. */
export interface AdminHandler {
  /** Answers a request, at whatever path it is mounted. */
  (request: Request): Promise<Response>
  /** Counts a decision: pass it to `rateLimit` as `onDecision`, or call it with `{ decision }`. */
  onDecision(event: { readonly decision: Decision }): void
}

/** What is in flight in this process: of a policy with slots, whose limit is that of each key, or of a shedder. */
interface InFlight {
  readonly name: string
  readonly limit: number
  readonly inFlight: number
  readonly queued?: number
  readonly dropped?: Readonly<Record<string, number>>
}

const ALREADY_READ = 'the body is empty, or has been read before: mount the handler before any body parser'

const NO_OBJECT = 'the body must be a JSON object, such as { "ref": "…", "confirm": true }'

/** How many keys are listed. */
const LISTED = 50

/**
 * Builds an admin page and its JSON API as a function from Request to Response. Throws a `QuotaError` without `authorize`, or
 * if an option is invalid.
 */
export function adminHandler(options: AdminOptions): AdminHandler {
  const { limiters, byPolicy, shedders, authorize, audit, mask, secret, logger, clock } = checkedOptions(options)
  const denials = new Denials(clock)
  const seal = new Seal(secret)

  const stateOf = async (): Promise<Response> => {
    const policies = limiters.flatMap(({ policies, canBlock }) => policies.map((policy) => ({ ...policy, canBlock })))
    return json(200, { policies, denials: denials.lastHour(), inFlight: inFlightOf(), token: await seal.token() })
  }
  const inFlightOf = (): readonly InFlight[] => {
    const held = heldSlots()
    const slots = [...byPolicy].flatMap(([name, { policies }]) => {
      const quota = policies.find((policy) => policy.name === name)?.quota
      return quota?.kernel === 'slots' ? { name, limit: quota.limit, inFlight: held.get(name) ?? 0 } : []
    })
    const shed = shedders.map(([name, shedder]) => {
      const { limit, inFlight, queued, dropped } = shedder.stats()
      return { name, limit, inFlight, queued, dropped }
    })
    return [...slots, ...shed]
  }
  const keysOf = async (query: URLSearchParams): Promise<Response> => {
    const policy = query.get('policy') ?? ''
    const limiter = byPolicy.get(policy)
    if (limiter === undefined) return json(404, { error: 'there is no such policy' })
    const [limited, blocked] = [query.get('limited') === 'true', query.get('blocked') === 'true']
    const list = await limiter.list({ policy, limit: LISTED, limited, blocked })
    const keys = list.keys.map(async ({ key, isDigest, decision, blockedMs = null }) => {
      const { limit, remaining, retryAfterMs, resetAfterMs } = decision
      const times = { retryAfterMs, resetAfterMs, blockedMs }
      const numbers = { isDigest, limit, remaining, ...times }
      // No limiter resets the empty key, which all requests without a key share.
      if (isDigest || key === '') return { key: isDigest ? 'digest' : 'no key', ref: null, ...numbers }
      return { key: await shownKey(mask, key), ref: await seal.seal({ policy, key }), ...numbers }
    })
    return json(200, { ...list, keys: await Promise.all(keys) })
  }
  const changeKey = async (action: AuditEvent['action'], request: Request, given: Members): Promise<Response> => {
    const { ref, policy, key, confirm, duration } = given
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
    if (text === undefined) return json(413, { error: 'the body is too long' })
    const given = membersIn(text)
    if (given === undefined) return json(400, { error: text === '' ? ALREADY_READ : NO_OBJECT })
    return changeKey(api, request, given)
  }
  const answer = async (request: Request, body: Request | undefined): Promise<Response> => {
    const query = new URL(request.url).searchParams
    const api = query.get('api')
    if (body !== undefined) return change(request, body, api)
    if (request.method === 'POST') return json(400, { error: ALREADY_READ })
    if (request.method !== 'GET' && request.method !== 'HEAD') return json(405, { error: 'use GET or POST' })
    if (api === 'state') return stateOf()
    if (api === 'keys') return keysOf(query)
    if (api !== null) return json(404, { error: 'there is no such call' })
    const nonce = crypto.randomUUID()
    return respond(200, pageOf(nonce), pageHeaders(nonce))
  }
  const handle = async (request: Request): Promise<Response> => {
    try {
      // `authorize` may read the body.
      const body = request.method === 'POST' && !request.bodyUsed ? request.clone() : undefined
      if (!(await isAuthorized(authorize, request, logger))) return json(403, { error: 'not authorized' })
      return await answer(request, body)
    } catch (error) {
      // Messages may have keys in them.
      logger.warn(`spillway: the admin handler failed: ${kindOf(error)}`)
      return json(500, { error: 'it failed; the log of the server says why' })
    }
  }
  const handler = (request: Request): Promise<Response> => {
    if (hasMethod(request, 'clone')) return handle(request)
    // Thrown, not a rejection: a framework that passes its own request would send no response.
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `the admin handler takes a Request; got ${formatValue(request)}. In Express, write app.use(path, getRequestListener(admin)), with @hono/node-server; in Hono, admin(c.req.raw).`,
    )
  }
  return Object.assign(handler, { onDecision: ({ decision }: { decision: Decision }) => denials.count(decision) })
}

async function shownKey(mask: AdminOptions['mask'], key: string): Promise<string> {
  const shown = await mask?.(key)
  if (typeof shown === 'string') return shown
  throw new QuotaError('ERR_SPILLWAY_OPTION', `adminHandler: mask must return text; got ${typeof shown}.`)
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

async function isAuthorized(authorize: AdminOptions['authorize'], request: Request, logger: Logger): Promise<boolean> {
  try {
    return (await authorize(request)) === true
  } catch (error) {
    logger.warn(`spillway: authorize of the admin handler threw: ${kindOf(error)}`)
    return false
  }
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no error'
  const kind = `${error.name} ${'code' in error ? String(error.code) : ''}`.trim()
  // What is wrong with an option, such as a store that cannot list: no key is an option.
  return error instanceof QuotaError && error.code === 'ERR_SPILLWAY_OPTION' ? `${kind}: ${error.message}` : kind
}

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
