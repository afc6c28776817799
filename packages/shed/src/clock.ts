/** The time, and timers. */
export interface Clock {
  /**
   * Returns milliseconds that never step back. Processes that share a service should agree on them within some ms, such as since
   * 1970: they measure its idle latency at the same times.
   */
  now(): number
  /**
   * Calls back after so many milliseconds, never before it returns; 0 is in the next turn of the event loop. Returns the function
   * that cancels it.
   */
  after(ms: number, callback: () => void): () => void
}
