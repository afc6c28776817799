/** The part of an `AbortController` and its signal that the limiter and the middleware use: the real ones cost more than a call. */
export class Departure {
  aborted = false
  reason: unknown
  readonly #listeners = new Set<() => void>()

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener)
  }
  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }
  /** The caller leaves. */
  abort(reason?: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    for (const listener of this.#listeners) listener()
  }
}
