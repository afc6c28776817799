import { isIP } from 'node:net'
import { oncePer, processState } from '@spillway/core/internal'
import type { Request } from 'express'
import { addressOf } from './address.ts'
import { isSpillwayStore } from './store.ts'
import { unnamedScope } from './to.ts'

/** A receiver of errors, with a message if the error needs explanation. */
export interface Logger {
  error(error: unknown, message?: string): void
  warn(error: unknown, message?: string): void
}

/** A method of a logger. */
export type LoggerFn = (error: unknown, message?: string) => void

/** The names of the checks in express-rate-limit. */
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

/** Some checks by name, with `default` for the others. */
export type EnabledValidations = { [name in Name | 'default']?: boolean }

/** All checks, none, or some. */
export type ValidateOption = boolean | EnabledValidations

/** Looks for a mistake. */
type Problem = () => readonly [code: string, message: string] | false | undefined

/** Checks for likely mistakes. Each runs once, at the first opportunity; failures are logged, never thrown. */
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

const stores = (): WeakSet<object> => processState('compat stores', () => new WeakSet())
const unnamedOn = oncePer('compat databases', (_owner: object) => new Set<string>())
const countsOf = oncePer('compat requests', (_request: Request) => new Map<unknown, string[]>())

/** Reports whether another limiter counts under the default name on the same database: stores for one client are one. */
function isUnnamedAgain(store: object): boolean {
  const scope = unnamedScope(store)
  if (scope === undefined) return false
  const names = unnamedOn(scope.owner)
  const isAgain = names.has(scope.name)
  names.add(scope.name)
  return isAgain
}

/** Makes a function that does nothing after its first call. */
function atFirst<A extends readonly unknown[]>(call: (...args: A) => void): (...args: A) => void {
  let called = false
  return (...args) => {
    if (called) return
    called = true
    call(...args)
  }
}

export function checksOf(option: ValidateOption, logger: Logger): Checks {
  const wanted = (name: Name): boolean =>
    typeof option === 'boolean' ? option : (option[name] ?? option.default ?? true)
  // Requests of a server that is not Express have no app, and those of a test may have no headers.
  const attempted = (problem: Problem): ReturnType<Problem> => {
    try {
      return problem()
    } catch (error) {
      logger.error(error)
      return undefined
    }
  }
  const check = (name: Name, problem: Problem): void => {
    const found = wanted(name) && attempted(problem)
    if (!found) return
    const [code, message] = found
    logger[code.startsWith('WRN') ? 'warn' : 'error'](
      Object.assign(new Error(`${message} [validate: { ${name}: false } is silent]`), { code }),
    )
  }
  const checkSubnet = atFirst((subnet: unknown): void => {
    check('ipv6Subnet', () => {
      const fits = Number.isInteger(subnet) && (subnet as number) >= 32 && (subnet as number) <= 64
      return (
        subnet !== false &&
        !fits && ['ERR_ERL_IPV6_SUBNET', `ipv6Subnet must be 32 to 64 bits, or false; got ${subnet}.`]
      )
    })
  })

  return {
    options(given) {
      check('validationsConfig', () => {
        const unknown = Object.keys(option).find((name) => name !== 'default' && !NAMES.includes(name as Name))
        return unknown !== undefined && ['ERR_ERL_UNKNOWN_VALIDATION', `validate has no check "${unknown}".`]
      })
      check('knownOptions', () => {
        const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name))
        return (
          unknown !== undefined && ['ERR_ERL_UNKNOWN_OPTION', `The option "${unknown}" is unknown and has no effect.`]
        )
      })
      const { draft_polli_ratelimit_headers: draft, onLimitReached: reached, ipv6Subnet, keyGenerator } = given
      check('draftPolliHeaders', () => {
        const message = 'draft_polli_ratelimit_headers was removed: write standardHeaders: "draft-6".'
        return Boolean(draft) && ['WRN_ERL_DEPRECATED_DRAFT_POLLI_HEADERS', message]
      })
      check('onLimitReached', () => {
        const message = 'onLimitReached was removed: use handler.'
        return Boolean(reached) && ['WRN_ERL_DEPRECATED_ON_LIMIT_REACHED', message]
      })
      if (ipv6Subnet !== undefined && typeof ipv6Subnet !== 'function') checkSubnet(ipv6Subnet)
      check('keyGeneratorIpFallback', () => {
        const source = typeof keyGenerator === 'function' ? keyGenerator.toString() : ''
        const message =
          'keyGenerator reads the address itself, so an IPv6 client has a limit for each of its addresses. Use ipKeyGenerator.'
        return (
          /\breq(uest)?\.ip\b/.test(source) && !source.includes('ipKeyGenerator') && ['ERR_ERL_KEY_GEN_IPV6', message]
        )
      })
      check('ipv6SubnetOrKeyGenerator', () => {
        const message = 'ipv6Subnet applies to the default keyGenerator only.'
        return ipv6Subnet !== undefined && keyGenerator !== undefined && ['ERR_ERL_IPV6SUBNET_OR_KEYGENERATOR', message]
      })
    },
    store(store, given) {
      check('creationStack', () => {
        const message =
          'rateLimit() is called while a request is handled, so that each request gets a limiter of its own, which never denies. Call it once, when the app starts.'
        const inHandler = /Layer\.handle( \[as handle_request\]|Request)/.test(new Error().stack ?? '')
        return inHandler && ['ERR_ERL_CREATED_IN_REQUEST_HANDLER', message]
      })
      check('unsharedStore', () => {
        // A store of Spillway can be shared by several limiters, under different names.
        const owner = typeof given === 'object' && given !== null ? given : store
        const message = isSpillwayStore(given)
          ? "Two limiters on one store count together, both as 'express-rate-limit': give each toExpressRateLimitStore(store, { name })."
          : 'Two limiters on one store count together: make one for each, with a prefix of its own.'
        if (stores().has(owner) || isUnnamedAgain(store)) return ['ERR_ERL_STORE_REUSE', message]
        stores().add(owner)
      })
    },
    address: atFirst((request) => {
      const { headers } = request
      const ip = addressOf(request)
      // Without Express there is no setting, and no proxy is trusted.
      const trusted = (): unknown => (request.app ? request.app.get('trust proxy') : false)
      check('ip', () => {
        if (ip === undefined)
          return ['ERR_ERL_UNDEFINED_IP_ADDRESS', 'A request has no address: its client may have disconnected.']
        const message = `A client's address is invalid: ${ip}. Set a keyGenerator that can read it.`
        return isIP(ip) === 0 && ['ERR_ERL_INVALID_IP_ADDRESS', message]
      })
      check('trustProxy', () => {
        const message =
          "With 'trust proxy' true, clients can forge their address. Set 'trust proxy' to the number of proxies."
        return trusted() === true && ['ERR_ERL_PERMISSIVE_TRUST_PROXY', message]
      })
      check('xForwardedForHeader', () => {
        const message =
          "A request has X-Forwarded-For, but 'trust proxy' is false: all clients of a proxy count as one."
        const unread = headers['x-forwarded-for'] !== undefined && trusted() === false
        return unread && ['ERR_ERL_UNEXPECTED_X_FORWARDED_FOR', message]
      })
      check('forwardedHeader', () => {
        const message = 'A request has Forwarded, which Express does not read. Set a keyGenerator that does.'
        return (
          headers.forwarded !== undefined &&
          ip === request.socket?.remoteAddress && ['ERR_ERL_FORWARDED_HEADER', message]
        )
      })
    }),
    ipv6Subnet: checkSubnet,
    counted: atFirst((request, store, key) => {
      check('singleCount', () => {
        const keys = countsOf(request)
        const place = store.localKeys ? store : store.constructor.name
        const before = keys.get(place) ?? []
        const prefixed = `${store.prefix ?? ''}${key}`
        keys.set(place, [...before, prefixed])
        return before.includes(prefixed) && ['ERR_ERL_DOUBLE_COUNT', `A request was counted twice for key ${key}.`]
      })
    }),
    hits: atFirst((hits) => {
      check('positiveHits', () => {
        const whole = Number.isInteger(hits) && (hits as number) >= 1
        return (
          !whole && [
            'ERR_ERL_INVALID_HITS',
            `The store returned a count of ${hits}. It must be a whole number, 1 or more.`,
          ]
        )
      })
    }),
    limit: atFirst((limit) => {
      check(
        'limit',
        () =>
          limit === 0 && [
            'WRN_ERL_MAX_ZERO',
            'A limit of 0 denies all requests. Before version 7 it disabled the limit.',
          ],
      )
    }),
    reset: atFirst((resetTime) => {
      check('headersResetTime', () => {
        const message = 'The store does not report when windows end: Retry-After is the length of a whole window.'
        return resetTime === undefined && ['ERR_ERL_HEADERS_NO_RESET', message]
      })
    }),
    draft: atFirst((draft) => {
      check('headersDraftVersion', () => {
        const message = `standardHeaders must be draft-6, draft-7 or draft-8; got ${draft}.`
        return !DRAFTS.includes(draft) && ['ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION', message]
      })
    }),
  }
}
