import {
  type DynamicModule,
  Inject,
  Module,
  type ModuleMetadata,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common'
import { APP_FILTER, APP_GUARD, ModulesContainer } from '@nestjs/core'
import { QuotaError } from '@spillway/core'
import { checkFunctions, checkOptions, formatValue } from '@spillway/core/internal'
import { RateLimitFilter } from './filter.ts'
import { RateLimitGuard } from './guard.ts'
import { importedOnce } from './imported-once.ts'
import { RateLimiter, type RateLimitOptions } from './limiter.ts'
import { RATE_LIMIT_MODULE } from './require-module.ts'
import { missingGuard } from './unguarded.ts'

/** Options that other providers make. */
export interface RateLimitModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /**
   * The providers that `useFactory` needs.
   * @default none
   */
  readonly inject?: readonly NonNullable<Extract<Provider, { inject?: unknown }>['inject']>[number][]
  /** Returns the options, or a promise of them. */
  readonly useFactory: (...dependencies: never[]) => RateLimitOptions | Promise<RateLimitOptions>
}

/** Limits every HTTP route of an app, and every query, mutation and subscription of GraphQL. */
export class RateLimitModule implements OnModuleInit {
  readonly #limiter: RateLimiter
  readonly #modules: ModulesContainer

  constructor(limiter: RateLimiter, modules: ModulesContainer) {
    this.#limiter = limiter
    this.#modules = modules
  }

  /** The module with its options: those of `rateLimit` in other frameworks. */
  static forRoot<Name extends string = 'default'>(options: RateLimitOptions<Name>): DynamicModule {
    const limiter = { provide: RateLimiter, useFactory: () => new RateLimiter(options as unknown as RateLimitOptions) }
    return moduleWith(limiter)
  }

  /** The module with options that other providers make. Throws a `QuotaError` if an option is invalid. */
  static forRootAsync(options: RateLimitModuleAsyncOptions): DynamicModule {
    checkOptions('RateLimitModule.forRootAsync', options, ['imports', 'inject', 'useFactory'])
    checkFunctions(options, ['useFactory'], true)
    const { imports = [], inject = [], useFactory } = options
    checkList('imports', imports, 'ConfigModule')
    checkList('inject', inject, 'ConfigService')
    const build = async (...dependencies: never[]) => new RateLimiter(await useFactory(...dependencies))
    return { ...moduleWith({ provide: RateLimiter, useFactory: build, inject: [...inject] }), imports }
  }

  /** Checks the decorators of all classes: an app with an invalid one does not start. */
  onModuleInit(): void {
    const classes = [...this.#modules.values()].flatMap(({ controllers, providers }) =>
      [...controllers.values(), ...providers.values()].map(({ metatype }) => metatype),
    )
    for (const each of new Set(classes)) {
      for (const method of methodsOf(each)) {
        this.#limiter.guardFor({ getClass: () => each as never, getHandler: () => method })
        const write = missingGuard(each as Method, method, this.#modules)
        if (write !== undefined) throw unguarded(method, write)
      }
    }
  }
}

Module({})(RateLimitModule)
Inject(RateLimiter)(RateLimitModule, undefined, 0)
Inject(ModulesContainer)(RateLimitModule, undefined, 1)

function checkList(option: string, value: unknown, example: string): void {
  if (Array.isArray(value)) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${option} must be a list, such as ${option}: [${example}]; got ${formatValue(value)}.`,
  )
}

const moduleWith = (limiter: Provider): DynamicModule => ({
  module: RateLimitModule,
  global: true,
  providers: [
    limiter,
    { provide: 'RateLimitModule scope', useFactory: scopeCheck, inject: [ModulesContainer] },
    ...importedOnce(RateLimitModule, RateLimiter),
    { provide: RATE_LIMIT_MODULE, useValue: true },
    RateLimitGuard,
    RateLimitFilter,
    { provide: APP_GUARD, useExisting: RateLimitGuard },
    { provide: APP_FILTER, useExisting: RateLimitFilter },
  ],
  exports: [RateLimiter, RATE_LIMIT_MODULE, RateLimitGuard, RateLimitFilter],
})

/**
 * Refuses options that depend on a request: Nest 10 then calls no guard, without a word. A provider of its own, because the
 * module depends on the request, too, and is not initialised.
 */
const scopeCheck = (modules: ModulesContainer): OnModuleInit => ({
  onModuleInit() {
    for (const { providers } of modules.values()) {
      if (providers.get(RateLimiter)?.isDependencyTreeStatic() === false) throw ofRequests()
    }
  },
})

const ofRequests = (): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'RateLimitModule.forRootAsync injects a provider that Nest makes for each request, so that nothing would be limited. Inject others: functions such as key and quota get the request from the ExecutionContext.',
  )

const unguarded = (method: Method, write: string): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `@RateLimit: Nest calls no guard for ${formatValue(method.name)}, so that it is not limited. Write ${write}.`,
  )

type Method = (...args: never[]) => unknown

/** The methods that a class has or inherits, without those that it overrides: Nest does not call them for this class. */
function methodsOf(target: unknown): readonly Method[] {
  const members = new Map<string, unknown>()
  let prototype = typeof target === 'function' ? (target.prototype as object | null | undefined) : undefined
  for (; prototype && prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (!members.has(name)) members.set(name, value)
    }
  }
  members.delete('constructor')
  return [...members.values()].filter((member): member is Method => typeof member === 'function')
}
