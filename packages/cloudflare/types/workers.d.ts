// The part of Workers that is used. Their own types declare a whole world, which other runtimes' types contradict;
// what is published is checked against them.

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
  }

  interface DurableObjectState {
    readonly storage: DurableObjectStorage
  }

  export abstract class DurableObject<Env = unknown> {
    protected readonly ctx: DurableObjectState
    protected readonly env: Env
    constructor(ctx: DurableObjectState, env: Env)
  }

  export const env: Cloudflare.Env
}

declare namespace Cloudflare {
  // biome-ignore lint/suspicious/noEmptyInterface: whoever configures bindings adds them.
  interface Env {}
}
