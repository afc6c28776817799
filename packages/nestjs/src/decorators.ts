import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata, UseFilters } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { QuotaError } from '@spillway/core'
import type { PolicyOptions } from '@spillway/core/http'
import { checkObject, checkOptions, formatValue } from '@spillway/core/internal'
import type { PlatformResponse } from './context.ts'
import { decisionOf } from './decisions.ts'
import { RequireModule } from './require-module.ts'

/**
 * What a class or a method changes of a policy. With a quota or a key of its own it counts apart from the rest of the
 * app, as a policy named `POLICY:Class.method`, or as `name` says. With a cost alone, it consumes units of the policy.
 */
export type PolicyOverride = Partial<
  Pick<PolicyOptions<ExecutionContext, PlatformResponse>, 'name' | 'quota' | 'key' | 'cost' | 'defaultCost' | 'maxCost'>
>

/** Overrides, by the names of policies. */
export type PolicyOverrides = Readonly<Record<string, PolicyOverride>>

/** A decorator of a class or of a method. */
type ClassOrMethod = ClassDecorator & MethodDecorator
type Target = Parameters<Reflector['get']>[1]

const OVERRIDE_OPTIONS = ['name', 'quota', 'key', 'cost', 'defaultCost', 'maxCost']

const OVERRIDES = 'spillway:overrides'
const SKIPPED = 'spillway:skipped'
const reflector = new Reflector()

/** The overrides of a class or a method. */
export const overridesOn = (target: Target): PolicyOverrides => reflector.get(OVERRIDES, target) ?? {}

/** The policies that a class or a method skips: their names, or true for all. */
export const skippedOn = (target: Target): readonly (string | true)[] => reflector.get(SKIPPED, target) ?? []

/** Whether a class or a method skips a policy. */
export const skips = (target: Target, policy: string): boolean =>
  skippedOn(target).some((each) => each === true || each === policy)

/**
 * A policy that decorators of one class, or of one method, both skip and change. A class may skip what the class that it
 * extends changes.
 */
export function contradictionOn(target: Target): string | undefined {
  // To the end: in Jest, the classes of Node extend the `Function.prototype` of another realm.
  for (let each: Target = target; typeof each === 'function'; each = Object.getPrototypeOf(each) as Target) {
    const [overrides, inherited] = [overridesOn(each), overridesOn(Object.getPrototypeOf(each) as Target)]
    const both = Object.keys(overrides).find((name) => overrides[name] !== inherited[name] && skips(each, name))
    if (both !== undefined) return both
  }
}

/**
 * Changes policies for a class or a method, by their names. A method's decorators come before those of its class. Throws a
 * `QuotaError` if an option is invalid.
 *
 * @example
 * class Reports {
 *   @RateLimit({ default: { cost: 10 } })
 *   search() {}
 * }
 */
export function RateLimit(overrides: PolicyOverrides): ClassOrMethod {
  checkObject('@RateLimit', overrides)
  for (const [policy, override] of Object.entries(overrides)) {
    const hint = (): string => `Write the name of a policy first: @RateLimit({ default: { ${policy}: … } }).`
    const isOption = OVERRIDE_OPTIONS.includes(policy)
    const where = `@RateLimit of ${formatValue(policy)}`
    if (isOption && !(override instanceof Object)) {
      throw new QuotaError(
        'ERR_SPILLWAY_OPTION',
        `${where} takes an object of options; got ${formatValue(override)}. ${hint()}`,
      )
    }
    checkOptions(where, override, OVERRIDE_OPTIONS, isOption ? hint : undefined)
  }
  return decorator((target) =>
    applyDecorators(SetMetadata(OVERRIDES, withOverrides(target, overrides)), UseFilters(RequireModule)),
  )
}

/**
 * The overrides of a class or a method with those of another decorator on it. Options that a class inherits for a policy are
 * replaced by its own.
 */
function withOverrides(target: Target, overrides: PolicyOverrides): PolicyOverrides {
  const [known, inherited] = [overridesOn(target), overridesOn(Object.getPrototypeOf(target) as Target)]
  const merged = Object.entries(overrides).map(([name, override]): [string, PolicyOverride] => [
    name,
    known[name] === inherited[name] ? override : { ...known[name], ...override },
  ])
  return { ...known, ...Object.fromEntries(merged) }
}

/** Skips a policy, or all of them, for a class or a method. */
export function SkipRateLimit(policy?: string): ClassOrMethod {
  if (policy !== undefined && typeof policy !== 'string') {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `@SkipRateLimit takes the name of a policy; got ${formatValue(policy)}. Write @SkipRateLimit('default'), or @SkipRateLimit() for all.`,
    )
  }
  return decorator((target) => SetMetadata(SKIPPED, [...skippedOn(target), policy ?? true]))
}

/** Adds to the metadata that other decorators have set on the same class or method. */
const decorator = (on: (target: Target) => ClassOrMethod): ClassOrMethod =>
  ((target: Target, key: string, descriptor?: PropertyDescriptor) =>
    on(descriptor?.value ?? target)(target as never, key, descriptor as never)) as ClassOrMethod

/** The decision about a call, as a parameter of its handler; undefined if the call was not counted. */
export const RateLimitDecision: () => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext) => decisionOf(context),
)
