// Timers are everywhere, though no ECMAScript library declares them.
declare function setTimeout(callback: () => void, millis: number): unknown
declare function clearTimeout(timer: unknown): void

/** The longest time one timer can count, in milliseconds: some 24.8 days. */
const LONGEST_TIMER = 2 ** 31 - 1

/**
 * Calls back after `millis`, however long that is, unless stopped by the function returned. A process that has nothing
 * else to do waits for it, unless it `holds` nobody.
 */
export function setLongTimeout(
  millis: number,
  callback: () => void,
  { holds = true }: { readonly holds?: boolean } = {},
): () => void {
  let timer: unknown
  let left = millis
  const start = (): void => {
    const span = Math.min(left, LONGEST_TIMER)
    left -= span
    timer = setTimeout(goOn, Math.ceil(span))
    // Timers of browsers and of the edge are numbers, and hold nobody.
    if (!holds) (timer as { unref?: () => void }).unref?.()
  }
  const goOn = (): void => (left > 0 ? start() : callback())
  start()
  return () => clearTimeout(timer)
}

/** The part of an `AbortSignal` that is used. */
export interface Signal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}
