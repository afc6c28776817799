/** Registers what a caller does when it leaves early, and returns how to unregister it. */
export type OnLeave = (leave: () => void) => () => void

/** The promise's value while its caller stays: undefined if the caller leaves first. */
export function unlessLeft<T>(promise: Promise<T>, onLeave: OnLeave): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const forget = onLeave(() => resolve(undefined))
    promise.then(resolve, reject).finally(() => forget())
  })
}
