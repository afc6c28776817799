import { isIP } from 'node:net'
import type { Request } from 'express'
import { isSpillwayStore } from './store.ts'

/** Hears of errors, with a word on them where they do not speak for themselves. */
export interface Logger {
  error(error: unknown, message?: string): void
  warn(error: unknown, message?: string): void
}

/** The checks by their names in express-rate-limit. */
const NAMES = [
  'ip',
  'trustProxy',
  'xForwardedForHeader',
  'forwardedHeader',
  'positiveHits',
  'unsharedStore',
  'singleCount',
  'limit',
  'draftPolliHeaders',
  'onLimitReached',
  'headersDraftVersion',
  'headersResetTime',
  'knownOptions',
  'validationsConfig',
  'creationStack',
  'ipv6Subnet',
  'ipv6SubnetOrKeyGenerator',
  'keyGeneratorIpFallback',
  'windowMs',
] as const

/** The name of a check. */
type Name = (typeof NAMES)[number]

/** All checks or none, or some by name, with `default` for the others. */
export type ValidateOption = boolean | { readonly [name in Name | 'default']?: boolean }

/** Likely mistakes, each looked for once, the first time there is something to look at; told, never thrown. */
export interface Checks {
  options(given: Readonly<Record<string, unknown>>): void
  store(store: { readonly localKeys?: boolean; readonly prefix?: string }, given: unknown): void
  address(request: Request): void
  ipv6Subnet(subnet: unknown): void
  counted(request: Request, store: { readonly localKeys?: boolean; readonly prefix?: string }, key: string): void
  hits(hits: unknown): void
  limit(limit: unknown): void
  reset(resetTime: Date | undefined): void
  draft(draft: unknown): void
}

const OPTIONS: readonly string[] =
  'windowMs limit message statusCode legacyHeaders standardHeaders identifier retryAfter requestPropertyName skipFailedRequests skipSuccessfulRequests keyGenerator ipv6Subnet handler skip requestWasSuccessful store validate headers max passOnStoreError logger draft_polli_ratelimit_headers onLimitReached delayAfter delayMs maxDelayMs'.split(
    ' ',
  )
const DRAFTS: readonly unknown[] = ['draft-6', 'draft-7', 'draft-8', false]

const stores = new WeakSet<object>()
const countedBy = new WeakMap<Request, Map<unknown, string[]>>()

export function checksOf(option: ValidateOption, logger: Logger): Checks {
  const done = new Set<Name>()
  const wanted = (name: Name): boolean =>
    typeof option === 'boolean' ? option : (option[name] ?? option.default ?? true)
  const once = (name: Name, problem: () => readonly [code: string, message: string] | false | undefined): void => {
    if (done.has(name)) return
    done.add(name)
    const found = wanted(name) && problem()
    if (!found) return
    const [code, message] = found
    logger[code.startsWith('WRN') ? 'warn' : 'error'](
      Object.assign(new Error(`${message} [validate: { ${name}: false } is silent]`), { code }),
    )
  }

  return {
    options(given) {
      once('validationsConfig', () => {
        const unknown = Object.keys(option).find((name) => name !== 'default' && !NAMES.includes(name as Name))
        return unknown !== undefined && ['ERR_ERL_UNKNOWN_VALIDATION', `validate has no check "${unknown}".`]
      })
      once('knownOptions', () => {
        const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name))
        return unknown !== undefined && ['ERR_ERL_UNKNOWN_OPTION', `There is no option "${unknown}": nobody reads it.`]
      })
      const { draft_polli_ratelimit_headers: draft, onLimitReached: reached, ipv6Subnet, keyGenerator } = given
      once('draftPolliHeaders', () => {
        const message = 'draft_polli_ratelimit_headers is no more: write standardHeaders: "draft-6".'
        return Boolean(draft) && ['WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS', message]
      })
      once('onLimitReached', () => {
        const message = 'onLimitReached is no more: do it in handler, where options.limit is just passed.'
        return Boolean(reached) && ['WRN_ERL_DEPRECATED_ON_LIMIT_REACHED', message]
      })
      if (ipv6Subnet !== undefined && typeof ipv6Subnet !== 'function') this.ipv6Subnet(ipv6Subnet)
      once('keyGeneratorIpFallback', () => {
        const source = typeof keyGenerator === 'function' ? keyGenerator.toString() : ''
        const message = 'keyGenerator reads the address itself: by ipKeyGenerator, a household of IPv6 is one client.'
        return (
          /\breq(uest)?\.ip\b/.test(source) && !source.includes('ipKeyGenerator') && ['ERR_ERL_KEY_GEN_IPV6', message]
        )
      })
      once('ipv6SubnetOrKeyGenerator', () => {
        const message = 'ipv6Subnet is for the default keyGenerator: this one does not ask it.'
        return ipv6Subnet !== undefined && keyGenerator !== undefined && ['ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR', message]
      })
    },
    store(store, given) {
      once('creationStack', () => {
        const message =
          'rateLimit() is called while a request is handled, so that each request gets a limiter of its own, which never denies. Call it once, when the app starts.'
        const inHandler = /Layer\.handle( \[as handle_request\]|Request)/.test(new Error().stack ?? '')
        return inHandler && ['ERR_ERL_CREATED_IN_REQUEST_HANDLER', message]
      })
      once('unsharedStore', () => {
        // One of Spillway's can be shared, by other limiters under other names.
        const owner = typeof given === 'object' && given !== null ? given : store
        const message = isSpillwayStore(given)
          ? 'Two limiters on one store count together: give each toExpressRateLimitStore(store, { name }).'
          : 'Two limiters on one store count together: make one for each, with a prefix of its own.'
        if (stores.has(owner)) return ['ERR_ERL_STORE_REUSE', message]
        stores.add(owner)
      })
    },
    address(request) {
      const { ip, app, headers } = request
      once('ip', () => {
        if (ip === undefined)
          return ['ERR_ERL_UNDEFINED_IP_ADDRESS', 'A request has no address: its client may be gone.']
        const message = `A client's address is none: ${ip}. Give a keyGenerator that can read it.`
        return isIP(ip) === 0 && ['ERR_ERL_INVALID_IP_ADDRESS', message]
      })
      once('trustProxy', () => {
        const message = "With 'trust proxy' true, clients choose their address: say how many proxies there are."
        return app.get('trust proxy') === true && ['ERR_ERL_PERMISSIVE_TRUST_PROXY', message]
      })
      once('xForwardedForHeader', () => {
        const message = "X-Forwarded-For arrives, and 'trust proxy' is false: clients of one proxy count as one."
        const unread = headers['x-forwarded-for'] !== undefined && app.get('trust proxy') === false
        return unread && ['ERR_ERL_UNEXPECTED_X_FORWARDED_FOR', message]
      })
      once('forwardedHeader', () => {
        const message = 'Forwarded arrives, and Express does not read it: give a keyGenerator that does.'
        return (
          headers.forwarded !== undefined &&
          ip === request.socket?.remoteAddress && ['ERR_ERL_FORWARDED_HEADER', message]
        )
      })
    },
    ipv6Subnet(subnet) {
      once('ipv6Subnet', () => {
        const fits = Number.isInteger(subnet) && (subnet as number) >= 32 && (subnet as number) <= 64
        return (
          subnet !== false && !fits && ['ERR_ERL_IPV6_SUBNET', `ipv6Subnet is 32 to 64 bits, or false; got ${subnet}.`]
        )
      })
    },
    counted(request, store, key) {
      once('singleCount', () => {
        const keys = countedBy.get(request) ?? new Map<unknown, string[]>()
        countedBy.set(request, keys)
        const place = store.localKeys ? store : store.constructor.name
        const before = keys.get(place) ?? []
        const prefixed = `${store.prefix ?? ''}${key}`
        keys.set(place, [...before, prefixed])
        return before.includes(prefixed) && ['ERR_ERL_DOUBLE_COUNT', `A request was counted twice for key ${key}.`]
      })
    },
    hits(hits) {
      once('positiveHits', () => {
        const whole = Number.isInteger(hits) && (hits as number) >= 1
        return !whole && ['ERR_ERL_INVALID_HITS', `The store counts ${hits}, which is no whole number of 1 or more.`]
      })
    },
    limit(limit) {
      once(
        'limit',
        () => limit === 0 && ['WRN_ERL_MAX_ZERO', 'A limit of 0 refuses everything, which before 7 meant nothing.'],
      )
    },
    reset(resetTime) {
      once('headersResetTime', () => {
        const message = 'The store does not tell when windows end: clients are told to wait for a whole one.'
        return resetTime === undefined && ['ERR_ERL_HEADERS_NO_RESET', message]
      })
    },
    draft(draft) {
      once('headersDraftVersion', () => {
        const message = `standardHeaders knows draft-6, draft-7 and draft-8; got ${draft}.`
        return !DRAFTS.includes(draft) && ['ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION', message]
      })
    },
  }
}
