// The part of the Workers API that is used. Cloudflare's own types conflict with those of other runtimes. The published
// package is checked against Cloudflare's types.

declare module 'cloudflare:workers' {
  interface SqlCursor<T> {
    toArray(): T[]
  }

  interface DurableObjectStorage {
    readonly sql: { exec<T>(query: string, ...bindings: (string | number)[]): SqlCursor<T> }
    setAlarm(atMs: number): Promise<void>
    getAlarm(): Promise<number | null>
    deleteAlarm(): Promise<void>
    deleteAll(): Promise<void>
    transactionSync<T>(work: () => T): T
  }

  interface DurableObjectState {
    readonly storage: DurableObjectStorage
    blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>
    abort(reason?: string): void
  }

  export abstract class DurableObject<Env = unknown> {
    protected readonly ctx: DurableObjectState
    protected readonly env: Env
    constructor(ctx: DurableObjectState, env: Env)
  }

  export const env: Cloudflare.Env

  /** Absent before August 2025. */
  export const waitUntil: ((work: Promise<unknown>) => void) | undefined
}

declare namespace Cloudflare {
  // biome-ignore lint/suspicious/noEmptyInterface: projects that configure bindings add them.
  interface Env {}
}
