import { checkOptions, givenOptions, peerOption } from '../../common/options.ts'
import type { Duration } from '../../common/time.ts'
import { STORE_OPTIONS, type StoreOptions } from '../../policies/store-config.ts'
import type { Store } from '../../stores/store.ts'
import type { DeniedOption } from '../headers/denied.ts'
import type { RequestSourceOptions } from '../keys/request-sources.ts'
import type { MatchOption } from '../policies/match.ts'
import { POLICY_OPTIONS, type PolicyOptions } from '../policies/policy-options.ts'
import type { DecisionEvent } from './events.ts'
import type { HeaderOptions } from './header-builder.ts'
import type { SettleOptions } from './settlement.ts'

/** Options for all policies of a limiter. */
interface CommonOptions<R, Name extends string, A>
  extends RequestSourceOptions<R>,
    SettleOptions,
    HeaderOptions,
    StoreOptions {
  /**
   * The store of the counts, such as `redisStore(client)`; `undefined` selects the default.
   * @default a `memoryStore()` of its own
   */
  readonly store?: Store | undefined
  /**
   * Requests that are allowed without being counted, by every policy: an allow list such as `{ ip: ['10.0.0.0/8',
   * '2001:db8::7'] }`, a function, or a list of these, of which one must hold.
   * @default none
   */
  readonly skip?: MatchOption<R>
  /**
   * Counts every CORS preflight: an `OPTIONS` request without a body that carries `Origin` and `Access-Control-Request-Method`. By
   * default, one is refunded that is answered with 404, 405 or `Access-Control-Allow-Methods`.
   * @default `false`
   */
  readonly countPreflight?: boolean
  /**
   * How long a request may be delayed until its units are available. A request that would wait longer is denied at
   * once.
   * @default `0`, no delay
   */
  readonly maxWait?: Duration
  /**
   * Answers denied requests instead of the problem document. A policy's own `onDenied` comes first.
   * @default a problem document (RFC 9457), status 429 or 503
   */
  readonly onDenied?: DeniedOption<R, A, Name>
  /**
   * Called with every decision, of enforced and of shadow policies.
   * @default none
   */
  readonly onDecision?: (event: DecisionEvent<R, Name>) => void
}

/**
 * The options of `rateLimit` in every framework: one policy, written flat, or a list of policies. `S` is the response
 * that `settle` reads. `A` is the response with which `onDenied` may answer.
 */
export type RateLimitOptions<R, S = unknown, Name extends string = string, A = S> = CommonOptions<R, Name, A> &
  (
    | (PolicyOptions<R, S, Name, A> & { readonly policies?: never })
    | ({
        /**
         * Several policies instead of one: a request is allowed if all that apply to it allow it.
         * @default required, or the options of one policy
         */
        readonly policies: readonly PolicyOptions<R, S, Name, A>[]
      } & {
        readonly [K in Exclude<keyof PolicyOptions<R, S>, keyof CommonOptions<R, Name, A>>]?: never
      })
  )

/** The names of the options for all policies. */
const COMMON_OPTIONS: readonly string[] = /* @__PURE__ */ STORE_OPTIONS.concat(
  'headers',
  'jitter',
  'exposeHeaders',
  'countPreflight',
  'trustProxy',
  'skip',
  'maxWait',
  'ipv6Prefix',
  'claims',
  'refundIf',
  'onDenied',
  'onDecision',
)

/** The names of the options for one policy. */
const ownOptions = (): readonly string[] => POLICY_OPTIONS.filter((name) => !COMMON_OPTIONS.includes(name))

/**
 * The options, as an object of their own, with those that are inherited. Throws a QuotaError for options that `rateLimit`
 * does not have; `peerHint` ends the hints for those of other rate limiters.
 */
export function checkedOptions(options: unknown, peerHint = ''): object {
  const several = ((options as { policies?: unknown } | null | undefined)?.policies ?? undefined) !== undefined
  const known = ['policies', ...(several ? [] : ownOptions()), ...COMMON_OPTIONS]
  checkOptions('rateLimit', options, known, (name, given) => {
    const here = peerOption(name)
    if (here) return `Here that is ${here}${peerHint}.`
    // Without any known option, the argument is a request. With `kernel`, it is a quota.
    if (name !== 'kernel' && given.some((each) => known.includes(each))) return undefined
    return 'It is called once, when the app is built, with options: app.use(rateLimit({ quota: perMinute(100) })).'
  })
  return givenOptions(options as object, known)
}

/** The policies of the options: those listed, or the one that is written flat. */
export function policiesOf<R, S>(options: RateLimitOptions<R, S>): readonly PolicyOptions<R, S>[] {
  return options.policies ?? [givenOptions(options, ownOptions()) as PolicyOptions<R, S>]
}
