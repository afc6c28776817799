import type { ExecutionContext, ModuleMetadata, Type } from '@nestjs/common'
import type { Store } from '@spillway/core'
import type { ThrottlerStorage, ThrottlerStorageRecord } from './storage.ts'

// The types of @nestjs/throttler, so that programs that compile with it compile here.

/** A value, or a function that returns it for a request. */
export type Resolvable<T extends number | string | boolean> = T | ((context: ExecutionContext) => T | Promise<T>)

/** A request of any platform. */
// biome-ignore lint/suspicious/noExplicitAny: as in @nestjs/throttler, whose users read any property
export type AnyRequest = Record<string, any>

/** Returns what identifies the client of a request. */
export type ThrottlerGetTrackerFunction = (req: AnyRequest, context: ExecutionContext) => Promise<string> | string

/** Returns the key that is counted. */
export type ThrottlerGenerateKeyFunction = (
  context: ExecutionContext,
  trackerString: string,
  throttlerName: string,
) => string | Promise<string>

/** The options that one throttler and all of them can have. */
export interface CommonOptions {
  /** Requests of these user agents are not counted. */
  ignoreUserAgents?: RegExp[]
  /** Whether a request is not counted. */
  skipIf?: (context: ExecutionContext) => boolean | Promise<boolean>
  /** Returns what identifies the client; default: its address. */
  getTracker?: ThrottlerGetTrackerFunction
  /** Returns the key that is counted; default: of the method, its class and the tracker. */
  generateKey?: ThrottlerGenerateKeyFunction
  /** Whether to set rate limit headers. */
  setHeaders?: boolean
}

/** A limit. */
export interface ThrottlerOptions extends CommonOptions {
  /** Its name, for decorators and headers; default: `default`. */
  name?: string
  /** Requests per `ttl`. */
  limit: Resolvable<number>
  /** Milliseconds for which a request counts. */
  ttl: Resolvable<number>
  /** Milliseconds for which a client that exceeds the limit is blocked. */
  blockDuration?: Resolvable<number>
}

/** The options of the module: a list of throttlers, or that and what is common to them. */
export type ThrottlerModuleOptions =
  | ThrottlerOptions[]
  | (CommonOptions & {
      throttlers: ThrottlerOptions[]
      errorMessage?: string | ((context: ExecutionContext, throttlerLimitDetail: ThrottlerLimitDetail) => string)
      /** A storage of @nestjs/throttler, or a store such as `redisStore(client)`. */
      storage?: ThrottlerStorage | Store
      /** The leading bits of an IPv6 address that identify one client. */
      ipv6SubnetPrefix?: number
    })

/** A provider that makes the options. */
export interface ThrottlerOptionsFactory {
  createThrottlerOptions(): Promise<ThrottlerModuleOptions> | ThrottlerModuleOptions
}

/** Options that other providers make. */
export interface ThrottlerAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** A provider of the options that exists. */
  useExisting?: Type<ThrottlerOptionsFactory>
  /** A class that makes the options. */
  useClass?: Type<ThrottlerOptionsFactory>
  /** Returns the options. */
  // biome-ignore lint/suspicious/noExplicitAny: as in @nestjs/throttler
  useFactory?: (...args: any[]) => Promise<ThrottlerModuleOptions> | ThrottlerModuleOptions
  /** The providers that `useFactory` needs. */
  // biome-ignore lint/suspicious/noExplicitAny: as in @nestjs/throttler
  inject?: any[]
}

/** The details of a denial. */
export interface ThrottlerLimitDetail extends ThrottlerStorageRecord {
  /** How long a request counts, in milliseconds. */
  ttl: number
  /** The requests that are allowed. */
  limit: number
  /** The key that was counted. */
  key: string
  /** The client, as `getTracker` returns it. */
  tracker: string
}

/** A request that the guard counts for one throttler. */
export interface ThrottlerRequest {
  /** The call. */
  context: ExecutionContext
  /** The requests that are allowed. */
  limit: number
  /** How long a request counts, in milliseconds. */
  ttl: number
  /** The throttler. */
  throttler: ThrottlerOptions
  /** How long a key is denied that is over its limit, in milliseconds. */
  blockDuration: number
  /** Returns the client. */
  getTracker: ThrottlerGetTrackerFunction
  /** Returns the key of the client. */
  generateKey: ThrottlerGenerateKeyFunction
}
