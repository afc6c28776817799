import { Inject, SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { checkBoolean, checkFunctions, checkObject, checkOptions, formatValue } from '@spillway/core/internal'
import { checkNumbers } from './checks.ts'
import type { Resolvable, ThrottlerGenerateKeyFunction, ThrottlerGetTrackerFunction } from './options.ts'
import { getOptionsToken, getStorageToken } from './tokens.ts'

/** What a class or a method changes of a throttler. */
export interface ThrottlerMethodOrControllerOptions {
  /** Requests per `ttl`. */
  limit?: Resolvable<number>
  /** Milliseconds for which a request counts. */
  ttl?: Resolvable<number>
  /** Milliseconds for which a client that exceeds the limit is blocked. */
  blockDuration?: Resolvable<number>
  /** Returns what identifies the client. */
  getTracker?: ThrottlerGetTrackerFunction
  /** Returns the key that is counted. */
  generateKey?: ThrottlerGenerateKeyFunction
}

/** A decorator of a class or of a method. */
type ClassOrMethod = MethodDecorator & ClassDecorator
/** A method or a class. */
export type Target = Parameters<Reflector['get']>[1]

const OVERRIDE_OPTIONS = ['limit', 'ttl', 'blockDuration', 'getTracker', 'generateKey']

const OVERRIDES = 'spillway:throttle'
const SKIPPED = 'spillway:skip-throttle'
/** Every throttler, whatever it is called. */
const ALL = Symbol('all throttlers')

const reflector = new Reflector()

/** What a class or a method has set with a decorator. */
const read = <T>(key: string, target: Target): Record<string | symbol, T | undefined> =>
  reflector.get(key, target) ?? {}

/** Changes throttlers for a class or a method, by their names. */
export function Throttle(options: Record<string, ThrottlerMethodOrControllerOptions>): ClassOrMethod {
  checkObject('@Throttle', options)
  for (const [name, override] of Object.entries(options)) {
    checkOptions(`@Throttle of ${formatValue(name)}`, override, OVERRIDE_OPTIONS)
    checkFunctions(override, ['getTracker', 'generateKey'])
    checkNumbers(name, override)
  }
  return merging(OVERRIDES, options)
}

/** Skips throttlers for a class or a method: all of them, or those whose names are true. */
export function SkipThrottle(skip?: Record<string, boolean>): ClassOrMethod {
  if (skip === undefined) return merging(SKIPPED, { [ALL]: true })
  checkObject('@SkipThrottle', skip)
  for (const [name, value] of Object.entries(skip)) checkBoolean(`@SkipThrottle of ${formatValue(name)}`, value)
  return merging(SKIPPED, skip)
}

/** Injects the options. */
export const InjectThrottlerOptions = (): PropertyDecorator & ParameterDecorator => Inject(getOptionsToken())

/** Injects the storage. */
export const InjectThrottlerStorage = (): PropertyDecorator & ParameterDecorator => Inject(getStorageToken())

/** What the first of these, a method and its class, has set for a throttler. */
export function overrideOf<Key extends keyof ThrottlerMethodOrControllerOptions>(
  option: Key,
  name: string,
  targets: readonly Target[],
): ThrottlerMethodOrControllerOptions[Key] | undefined {
  for (const target of targets) {
    const value = read<ThrottlerMethodOrControllerOptions>(OVERRIDES, target)[name]?.[option]
    if (value !== undefined) return value
  }
  return undefined
}

/** The throttlers that the decorators of a method or a class name. */
export const namesOn = (target: Target): readonly string[] =>
  [OVERRIDES, SKIPPED].flatMap((key) => Object.keys(read(key, target)))

/** Whether a throttler is skipped: a method's decorator overrides that of its class, and a name overrides "all". */
export function isSkipped(name: string, targets: readonly Target[]): boolean {
  const values = targets.map((target) => read<boolean>(SKIPPED, target)).flatMap((own) => [own[name], own[ALL]])
  return values.find((value) => value !== undefined) ?? false
}

/** Adds to what other decorators have set on the same class or method. */
const merging = (key: string, value: object): ClassOrMethod =>
  ((target: Target, property: string, descriptor?: PropertyDescriptor) => {
    const own = descriptor?.value ?? target
    return SetMetadata(key, { ...read(key, own), ...value })(target as never, property, descriptor as never)
  }) as ClassOrMethod
