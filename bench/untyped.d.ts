// Types of rivals without their own.

declare module 'koa-ratelimit/limiter/memory.js' {
  class Limiter {
    constructor(options: { id: string; db: Map<string, unknown>; max: number; duration: number })
    get(): Promise<{ total: number; remaining: number; reset: number }>
  }
  export = Limiter
}

declare module 'koa-ratelimit' {
  import type { Middleware } from 'koa'

  function ratelimit(options: object): Middleware
  export = ratelimit
}

declare module 'koa2-ratelimit' {
  import type { Middleware } from 'koa'
  export const RateLimit: { middleware(options: object): Middleware }
}

declare module '@fastify/rate-limit/store/LocalStore.js' {
  type Incremented = (error: Error | null, record: { current: number; ttl: number }) => void
  class LocalStore {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, cache: number)
    incr(key: string, answer: Incremented, timeWindow: number, max: number): void
  }
  export = LocalStore
}

declare module 'toobusy-js' {
  function toobusy(): boolean
  export = toobusy
}

declare module 'overload-protection' {
  type Protect = (request: object, response: object, next: () => void) => void
  function protect(framework: 'http', options: object): Protect
  export = protect
}
