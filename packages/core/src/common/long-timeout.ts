// Every runtime has timers, though no ECMAScript library declares them.
declare function setTimeout(callback: () => void, millis: number): unknown
declare function clearTimeout(timer: unknown): void

/** The longest time one timer can count, in milliseconds: some 24.8 days. */
export const LONGEST_TIMER: number = 2_147_483_647

/**
 * Calls back after `millis`, which may exceed the longest timer, unless stopped by the function returned. The timer keeps the
 * process running, unless `holds` is false.
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
    timer = setTimeout(proceed, Math.ceil(span))
    // Timers of browsers and edge runtimes are numbers, without `unref`.
    if (!holds) (timer as { unref?: () => void }).unref?.()
  }
  const proceed = (): void => (left > 0 ? start() : callback())
  start()
  return () => clearTimeout(timer)
}
