import { type CanActivate, type ExecutionContext, Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { checkOptions, formatValue, oncePer } from '@spillway/core/internal'
import { checkCommon, checkNumbers, toNumber } from './checks.ts'
import { isSkipped, namesOn, overrideOf, type Target } from './decorators.ts'
import { ThrottlerException, throttlerMessage } from './exception.ts'
import { DEFAULT_IPV6_SUBNET_PREFIX, normalizeIp } from './ip.ts'
import type {
  AnyRequest,
  Resolvable,
  ThrottlerLimitDetail,
  ThrottlerModuleOptions,
  ThrottlerOptions,
  ThrottlerRequest,
} from './options.ts'
import type { ThrottlerStorage } from './storage.ts'
import { getOptionsToken, getStorageToken } from './tokens.ts'
import { seconds } from './utilities.ts'

/** The warnings that have been logged about options: a guard may be made for each request. */
const loggedAbout = oncePer('throttler warnings', (_options: object) => new Set<string>())

/** Limits requests by the options of `ThrottlerModule`. Its protected methods can be overridden. */
export class ThrottlerGuard implements CanActivate, OnModuleInit {
  protected headerPrefix = 'X-RateLimit'
  protected logger: Logger = new Logger('ThrottlerGuard')
  protected errorMessage: string = throttlerMessage
  protected ipv6SubnetPrefix: number = DEFAULT_IPV6_SUBNET_PREFIX
  protected throttlers: ThrottlerOptions[] = []
  protected commonOptions: Pick<
    ThrottlerOptions,
    'skipIf' | 'ignoreUserAgents' | 'getTracker' | 'generateKey' | 'setHeaders'
  > = {}
  #isReady = false
  /** The methods and classes whose decorators have been read: they do not change. */
  readonly #checked = new WeakSet<Target>()
  protected readonly options: ThrottlerModuleOptions
  protected readonly storageService: ThrottlerStorage
  protected readonly reflector: Reflector

  constructor(options: ThrottlerModuleOptions, storageService: ThrottlerStorage, reflector: Reflector) {
    this.options = options
    this.storageService = storageService
    this.reflector = reflector
  }

  async onModuleInit(): Promise<void> {
    this.#prepare()
  }

  /** Reads the options: at the first request, if Nest has not initialised this guard, as one that is made for a request. */
  #prepare(): void {
    const { throttlers, ipv6SubnetPrefix, errorMessage: _, storage: __, ...common } = asObject(this.options)
    this.#isReady = true
    checkList(throttlers, this.options)
    checkNames(throttlers, common)
    if (this.throttlers.length === 0) {
      // The shortest first, and those that are functions last. The options themselves stay as they are.
      this.throttlers = throttlers
        .map((each) => ({ ...each, name: each.name ?? 'default' }))
        .sort((a, b) => orderOf(a) - orderOf(b))
    }
    for (const throttler of this.throttlers) checkNumbers(throttler.name ?? 'default', throttler)
    if (this.throttlers.length === 0) {
      this.#warnOnce(
        'No throttlers are configured, so no request is limited. Give ThrottlerModule.forRoot() or forRootAsync() at least one.',
      )
    }
    if (ipv6SubnetPrefix !== undefined) {
      normalizeIp('::1', ipv6SubnetPrefix) // throws if it is out of range
      this.ipv6SubnetPrefix = ipv6SubnetPrefix
    }
    this.commonOptions = {
      ...common,
      getTracker: common.getTracker ?? this.getTracker.bind(this),
      generateKey: common.generateKey ?? this.generateKey.bind(this),
      ...this.commonOptions,
    }
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (!this.#isReady) this.#prepare()
    if (await this.shouldSkip(context)) return true
    const targets = [context.getHandler(), context.getClass()]
    for (const target of targets) if (!this.#checked.has(target)) this.#checkNames(target)
    const outcomes: boolean[] = []
    for (const throttler of this.throttlers) {
      const { name = 'default' } = throttler
      const skipIf = throttler.skipIf ?? this.commonOptions.skipIf
      if (isSkipped(name, targets) || (await skipIf?.(context))) continue
      const number = async (option: 'limit' | 'ttl' | 'blockDuration', otherwise?: number): Promise<number> => {
        const value = overrideOf(option, name, targets) ?? throttler[option] ?? otherwise
        return toNumber(await resolved(context, value), option, name)
      }
      const ttl = await number('ttl')
      const request = {
        context,
        limit: await number('limit'),
        ttl,
        throttler,
        blockDuration: await number('blockDuration', ttl),
        getTracker: overrideOf('getTracker', name, targets) ?? throttler.getTracker ?? this.commonOptions.getTracker,
        generateKey:
          overrideOf('generateKey', name, targets) ?? throttler.generateKey ?? this.commonOptions.generateKey,
      }
      outcomes.push(await this.handleRequest(request as ThrottlerRequest))
    }
    return outcomes.every((outcome) => outcome)
  }

  /** Warns of each name of a decorator that no throttler has. */
  #checkNames(target: Target): void {
    this.#checked.add(target)
    const names = this.throttlers.map(({ name }) => name)
    for (const name of namesOn(target)) {
      if (names.includes(name)) continue
      const all = names.map((each) => JSON.stringify(each)).join(', ')
      this.#warnOnce(
        `A decorator names the throttler ${JSON.stringify(name)}, which is not configured. There are ${all}.`,
      )
    }
  }

  #warnOnce(message: string): void {
    const logged = loggedAbout(this.options)
    if (logged.has(message)) return
    logged.add(message)
    this.logger.warn(message)
  }

  /** Whether a request is counted by no throttler. */
  protected async shouldSkip(_context: ExecutionContext): Promise<boolean> {
    return false
  }

  /** Counts a request for one throttler, and throws if it is denied. */
  protected async handleRequest(request: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, throttler, blockDuration, getTracker, generateKey } = request
    const { name = 'default' } = throttler
    const { req, res } = this.getRequestResponse(context)
    const ignored = throttler.ignoreUserAgents ?? this.commonOptions.ignoreUserAgents
    // A global or sticky pattern would remember where it stopped.
    const agent = String(req['headers']?.['user-agent'] ?? '')
    if (ignored?.some((pattern) => agent.search(pattern) >= 0)) return true
    const tracker = await getTracker(req, context)
    const key = await generateKey(context, tracker, name)
    const record = await this.storageService.increment(key, ttl, limit, blockDuration, name)
    const suffix = name === 'default' ? '' : `-${name}`
    const setsHeaders = throttler.setHeaders ?? this.commonOptions.setHeaders ?? true
    const set = (header: string, value: number): void => {
      if (setsHeaders) this.setResponseHeader(res, header + suffix, value)
    }
    if (record.isBlocked) {
      set('Retry-After', record.timeToBlockExpire)
      await this.throwThrottlingException(context, { limit, ttl, key, tracker, ...record })
    }
    set(`${this.headerPrefix}-Limit`, limit)
    set(`${this.headerPrefix}-Remaining`, Math.max(0, limit - record.totalHits))
    set(`${this.headerPrefix}-Reset`, record.timeToExpire)
    return true
  }

  /** What identifies the client: its address. */
  protected async getTracker(req: AnyRequest): Promise<string> {
    return normalizeIp(req['ip'], this.ipv6SubnetPrefix)
  }

  protected setResponseHeader(res: AnyRequest, name: string, value: string | number): void {
    if (typeof res['header'] === 'function') res['header'](name, value)
    else if (typeof res['setHeader'] === 'function') res['setHeader'](name, value)
  }

  protected getRequestResponse(context: ExecutionContext): { req: AnyRequest; res: AnyRequest } {
    const http = context.switchToHttp()
    return { req: http.getRequest(), res: http.getResponse() }
  }

  /** The key that is counted: of the method, its class and their paths, which distinguish classes of one name. */
  protected generateKey(context: ExecutionContext, suffix: string, name: string): string {
    const [target, handler] = [context.getClass(), context.getHandler()]
    const paths = [target, handler].map((each) => this.reflector.get('path', each) ?? '')
    return JSON.stringify([target.name, handler.name, ...paths, name, suffix])
  }

  protected async throwThrottlingException(context: ExecutionContext, detail: ThrottlerLimitDetail): Promise<void> {
    throw new ThrottlerException(await this.getErrorMessage(context, detail))
  }

  protected async getErrorMessage(context: ExecutionContext, detail: ThrottlerLimitDetail): Promise<string> {
    const { errorMessage } = asObject(this.options)
    if (!errorMessage) return this.errorMessage
    return typeof errorMessage === 'function' ? errorMessage(context, detail) : errorMessage
  }
}

Injectable()(ThrottlerGuard)
Inject(getOptionsToken())(ThrottlerGuard, undefined, 0)
Inject(getStorageToken())(ThrottlerGuard, undefined, 1)
Inject(Reflector)(ThrottlerGuard, undefined, 2)

const asObject = (options: ThrottlerModuleOptions): Exclude<ThrottlerModuleOptions, ThrottlerOptions[]> =>
  Array.isArray(options) ? { throttlers: options } : options

function checkList(throttlers: unknown, options: ThrottlerModuleOptions): void {
  if (Array.isArray(throttlers)) return
  const { ttl = 60, limit = 10 } = options as Partial<Record<'ttl' | 'limit', number>>
  throw new Error(
    `ThrottlerModule takes a list of throttlers: [{ ttl: ${seconds(ttl)}, limit: ${limit} }], or { throttlers: [...] }.`,
  )
}

const COMMON_OPTIONS = ['skipIf', 'ignoreUserAgents', 'getTracker', 'generateKey', 'setHeaders']
const THROTTLER_OPTIONS = ['name', 'limit', 'ttl', 'blockDuration', ...COMMON_OPTIONS]

/** Rejects options that nothing reads: a misspelt one would be a limit that is not there. */
function checkNames(throttlers: readonly ThrottlerOptions[], common: object): void {
  checkOptions('ThrottlerModule', common, COMMON_OPTIONS)
  checkCommon(common)
  for (const throttler of throttlers) {
    checkOptions(`the throttler ${formatValue(throttler?.name ?? 'default')}`, throttler, THROTTLER_OPTIONS)
    checkCommon(throttler)
  }
}

const orderOf = ({ ttl }: ThrottlerOptions): number => (typeof ttl === 'function' ? Number.MAX_VALUE : ttl)

const resolved = async (context: ExecutionContext, value: Resolvable<number> | undefined): Promise<unknown> =>
  typeof value === 'function' ? value(context) : value
