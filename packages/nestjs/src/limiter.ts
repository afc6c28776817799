import type { ExecutionContext, Type } from '@nestjs/common'
import { QuotaError } from '@spillway/core'
import {
  type ByKey,
  type ByKeyOptions,
  type Guard,
  httpGuard,
  type RateLimitOptions as Options,
  type PolicyOptions,
  type RequestReader,
} from '@spillway/core/http'
import { checkLogger, checkObject, formatValue } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import { type PlatformResponse, reader, readerBehind } from './context.ts'
import { contradictionOn, overridesOn, skippedOn, skips } from './decorators.ts'
import { countingOf, nameOf, renamed, sourceOf } from './spill.ts'

/** The options of `RateLimitModule.forRoot`. */
export type RateLimitOptions<Name extends string = string> = Options<ExecutionContext, PlatformResponse, Name>

type Policy = PolicyOptions<ExecutionContext, PlatformResponse>
/** The guard of calls, whatever their platform. */
type CallGuard = Guard<ExecutionContext, PlatformResponse>
/** A method of a class, as a context names it. */
type Handler = Pick<ExecutionContext, 'getClass' | 'getHandler'>
type Method = ReturnType<Handler['getHandler']>

const ALL_SKIPPED = 'all skipped'

/**
 * The limits of an app: the options of its module, and a guard for each method that changes them. Inject it to read and
 * change the counts of a key by the policies of the module, and by those of decorators: `{ policy: 'default:Auth.login' }`.
 */
export class RateLimiter implements ByKey {
  /** The decision about a call of this key that costs one unit, without counting it. */
  readonly peek: ByKey['peek']
  /** Consumes `units` (default: 1), even if they are not available: later calls wait for the debt. */
  readonly charge: ByKey['charge']
  /** Resets a key, which becomes new. Resolves with whether any policy had a state of it. */
  readonly reset: ByKey['reset']
  /** Refunds `units` (default: 1), until the quota is full. */
  readonly refund: ByKey['refund']
  /** Reports what the store keeps about a key, for each policy. */
  readonly inspect: ByKey['inspect']
  /** Lists the keys that have used the most of a policy. */
  readonly list: ByKey['list']
  /** Resets all keys, of one policy if it is named. */
  readonly resetAll: ByKey['resetAll']
  /** Denies calls of this key for a time. The policy must have `blocks: true` or a `penalty`. */
  readonly block: ByKey['block']
  /** Ends the block of a key, as if it had never started. */
  readonly unblock: ByKey['unblock']
  readonly #options: RateLimitOptions
  readonly #reader: RequestReader<ExecutionContext>
  readonly #guard: CallGuard
  /** Weak: an app's tracer may wrap a method anew for each request. */
  readonly #guards = new WeakMap<Type, WeakMap<Method, CallGuard | typeof ALL_SKIPPED>>()
  readonly #owners = new Map<string, Type>()
  /** The calls by key of the policies of decorators, by their names. */
  readonly #decorated = new Map<string, ByKey>()

  constructor(options: RateLimitOptions) {
    checkObject('RateLimitModule', options)
    const { store = memoryStore(), trustProxy } = options
    this.#options = { ...options, store }
    this.#reader = trustProxy ? readerBehind(trustProxy, checkLogger(options.logger)) : reader
    this.#guard = httpGuard(this.#options, this.#reader)
    this.peek = async (key, options) => this.#byKey('peek', options).peek(key, options)
    this.charge = async (key, units, options) => this.#byKey('charge', options).charge(key, units, options)
    this.reset = async (key, options) => this.#byKey('reset', options).reset(key, options)
    this.refund = async (key, units, options) => this.#byKey('refund', options).refund(key, units, options)
    this.inspect = async (key, options) => this.#byKey('inspect', options).inspect(key, options)
    this.list = async (options) => this.#byKey('list', options).list(options)
    this.resetAll = async (policy) => this.#byKey('resetAll', policy === undefined ? {} : { policy }).resetAll(policy)
    this.block = async (key, duration, options) => this.#byKey('block', options).block(key, duration, options)
    this.unblock = async (key, options) => this.#byKey('unblock', options).unblock(key, options)
  }

  get #policies(): readonly Policy[] {
    const { policies, ...only } = this.#options as RateLimitOptions & { readonly policies?: readonly Policy[] }
    return policies ?? [only as unknown as Policy]
  }

  /** The calls by key for the policy named; without a name, for those of the module. */
  #byKey(call: keyof ByKey, options: ByKeyOptions | undefined): ByKey {
    const policy = options?.policy
    const names = this.#policies.map(nameOf)
    if (policy === undefined || names.includes(policy)) return this.#guard.byKey
    const found = this.#decorated.get(policy)
    if (found !== undefined) return found
    const all = [...names, ...this.#decorated.keys()].map(formatValue).join(', ')
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${call} names the policy ${formatValue(policy)}; there are ${all}.`)
  }

  /** The guard of a call; undefined if its method or class skips all policies. */
  guardFor(handler: Handler): CallGuard | undefined {
    const [target, method] = [handler.getClass(), handler.getHandler()]
    const guards = this.#guards.get(target) ?? new WeakMap<Method, CallGuard | typeof ALL_SKIPPED>()
    const known = guards.get(method) ?? this.#build(target, method)
    this.#guards.set(target, guards.set(method, known))
    return known === ALL_SKIPPED ? undefined : known
  }

  #build(target: Type, method: Method): CallGuard | typeof ALL_SKIPPED {
    const all = this.#policies
    const names = all.map(nameOf)
    const changed = Object.keys(overridesOn(method))
    const skipped = [...skippedOn(target), ...skippedOn(method)].filter((each) => each !== true)
    const named = [...skipped, ...Object.keys(overridesOn(target)), ...changed]
    const unknown = named.find((name) => !names.includes(name))
    if (unknown !== undefined) {
      throw invalid(
        `${scopeOf(target, method)} names the policy ${formatValue(unknown)}; the policies are ${names.join(', ')}.`,
      )
    }
    for (const [each, scope] of scopesOf(target, method)) {
      const both = contradictionOn(each)
      if (both === undefined) continue
      throw invalid(`${scope} skips and changes the policy ${formatValue(both)}. Keep one of the decorators.`)
    }
    // A method's decorators come before those of its class.
    const isSkipped = (name: string): boolean => skips(method, name) || (skips(target, name) && !changed.includes(name))
    const counting = countingOf(all, isSkipped)
    const idle = changed.find((name) => !counting.some((policy) => nameOf(policy) === name))
    if (idle !== undefined) throw invalid(unreached(scopeOf(target, method), idle, all))
    if (counting.length === 0) return ALL_SKIPPED
    if (named.length === 0) return this.#guard
    const own = renamed(counting, (policy) => this.#overridden(policy, target, method))
    const { policies } = this.#options as { readonly policies?: unknown }
    // Named, because it counts together with the guard of all calls on purpose.
    const [only] = own.map((policy) => ({ ...policy, name: nameOf(policy) }))
    const guard = httpGuard((policies ? { ...this.#options, policies: own } : only) as RateLimitOptions, this.#reader)
    for (const name of own.map(nameOf)) {
      if (!names.includes(name) && !this.#decorated.has(name)) this.#decorated.set(name, guard.byKey)
    }
    return guard
  }

  /** A policy as a class and one of its methods change it. */
  #overridden(policy: Policy, target: Type, method: Method): Policy {
    const base = nameOf(policy)
    let own = policy
    for (const [each, scope] of scopesOf(target, method)) {
      const override = overridesOn(each)[base]
      if (override === undefined) continue
      const apart = override.quota !== undefined || override.key !== undefined
      const name = override.name ?? (apart ? this.#own(`${base}:${scope}`, target) : own.name)
      own = { ...own, ...override, ...(name !== undefined && { name }) } as Policy
    }
    return own
  }

  /** Throws if two classes have one name: they would count as one. */
  #own(name: string, target: Type): string {
    const owner = this.#owners.get(name) ?? target
    this.#owners.set(name, owner)
    if (owner === target) return name
    throw invalid(
      `two classes are named ${formatValue(target.name)}, and would count as one policy. Give the policy of one a name: @RateLimit({ …: { name: 'login', … } }).`,
    )
  }
}

/** What is wrong with a method that changes a policy to which only one spills over that does not count. */
function unreached(scope: string, name: string, all: readonly Policy[]): string {
  const source = formatValue(nameOf(sourceOf(all, name) as Policy))
  return `${scope} changes the policy ${formatValue(name)}, which counts only what ${source} spills over, and ${source} does not count there. Change ${source} too, or leave out one of the decorators.`
}

/** What has decorators, with its name. Those of a method come last: they take precedence. */
const scopesOf = (target: Type, method: Method): readonly (readonly [Type | Method, string])[] => [
  [target, target.name],
  [method, scopeOf(target, method)],
]

/** A method as its class names it. A decorator may have wrapped it in a function of another name, or of none. */
function scopeOf(target: Type, method: Method): string {
  let prototype = target.prototype as object | null
  for (; prototype; prototype = Object.getPrototypeOf(prototype)) {
    const properties = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    const found = properties.find(([, { value }]) => value === method)
    if (found !== undefined) return `${target.name}.${found[0]}`
  }
  return `${target.name}.${method.name}`
}

const invalid = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', `@RateLimit: ${problem}`)
