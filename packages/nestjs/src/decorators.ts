import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { PolicyOptions } from '@spillway/core/http'
import type { PlatformResponse } from './context.ts'
import { decisionOf } from './decisions.ts'

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

const OVERRIDES = 'spillway:overrides'
const SKIPPED = 'spillway:skipped'
const reflector = new Reflector()

/** The overrides of a class or a method. */
export const overridesOn = (target: Target): PolicyOverrides => reflector.get(OVERRIDES, target) ?? {}

/** The policies that a class or a method skips: their names, or true for all. */
export const skippedOn = (target: Target): readonly (string | true)[] => reflector.get(SKIPPED, target) ?? []

/**
 * Changes policies for a class or a method, by their names. A method's changes come before those of its class.
 *
 * @example
 * class Reports {
 *   @RateLimit({ default: { cost: 10 } })
 *   search() {}
 * }
 */
export const RateLimit = (overrides: PolicyOverrides): ClassOrMethod =>
  decorator((target) => SetMetadata(OVERRIDES, { ...overridesOn(target), ...overrides }))

/** Skips a policy, or all of them, for a class or a method. */
export const SkipRateLimit = (policy?: string): ClassOrMethod =>
  decorator((target) => SetMetadata(SKIPPED, [...skippedOn(target), policy ?? true]))

/** Adds to the metadata that other decorators have set on the same class or method. */
const decorator = (on: (target: Target) => ClassOrMethod): ClassOrMethod =>
  ((target: Target, key: string, descriptor?: PropertyDescriptor) =>
    on(descriptor?.value ?? target)(target as never, key, descriptor as never)) as ClassOrMethod

/** The decision about a call, as a parameter of its handler; undefined if the call was not counted. */
export const RateLimitDecision: () => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext) => decisionOf(context),
)
