import { memoryStore } from '@spillway/memory'
import type { Counted, ExpressRateLimitStore } from './store.ts'
import { toExpressRateLimitStore } from './to.ts'

/** The in-memory store by its name in express-rate-limit: at most 100,000 keys, and no timer. */
export class MemoryStore implements ExpressRateLimitStore {
  /** Keys are local to this limiter. */
  readonly localKeys = true
  readonly #store = toExpressRateLimitStore(memoryStore())

  /** Sets the length of a window. */
  init(options: { readonly windowMs: number }): void {
    void this.#store.init?.(options)
  }

  /** The count of a key; undefined if it has none. */
  async get(key: string): Promise<Counted | undefined> {
    return this.#store.get?.(key)
  }

  /** Counts a request. */
  async increment(key: string): Promise<Counted> {
    return this.#store.increment(key)
  }

  /** Subtracts a request. */
  async decrement(key: string): Promise<void> {
    await this.#store.decrement(key)
  }

  /** Deletes the count of a key. */
  async resetKey(key: string): Promise<void> {
    await this.#store.resetKey(key)
  }

  /** Deletes all counts. */
  async resetAll(): Promise<void> {
    await this.#store.resetAll?.()
  }

  /** Deletes all counts. */
  shutdown(): void {
    void this.resetAll()
  }
}
