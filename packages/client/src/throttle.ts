/** The time that counts, in slices of 5 s. */
const [SLICES, SLICE_MS] = [6, 5_000]
/** Half of all calls may fail before any is dropped. */
const K = 0.5

/**
 * Drops calls to a service that is down, on the client's side: of n calls and ok successes in the last 30 s, a share of
 * `(n − ok / K) / (n + 1)`, in which dropped calls count (Google's SRE book, "Handling Overload", with `1 / K` for its K).
 */
export class Throttle {
  readonly #calls: number[] = Array(SLICES).fill(0)
  readonly #ok: number[] = Array(SLICES).fill(0)
  #slice = 0

  /** The share of calls to drop now. */
  share(nowMs: number): number {
    this.#advance(nowMs)
    const [n, ok] = [sum(this.#calls), sum(this.#ok)]
    return Math.max(0, (n - ok / K) / (n + 1))
  }

  /** Counts a call that was answered or dropped, or has failed. */
  count(nowMs: number, isOk: boolean): void {
    this.#advance(nowMs)
    const at = this.#slice % SLICES
    this.#calls[at] = (this.#calls[at] as number) + 1
    if (isOk) this.#ok[at] = (this.#ok[at] as number) + 1
  }

  #advance(nowMs: number): void {
    const slice = Math.floor(nowMs / SLICE_MS)
    for (let each = Math.max(this.#slice + 1, slice - SLICES + 1); each <= slice; each++) {
      this.#calls[each % SLICES] = 0
      this.#ok[each % SLICES] = 0
    }
    this.#slice = Math.max(slice, this.#slice)
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)
