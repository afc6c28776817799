/** Registers what a caller does when it leaves early, and returns how to unregister it. */
export type OnClientClosed = (leave: () => void) => () => void

/** The promise's value while its caller stays: undefined if the caller leaves first. */
export function waitUnlessClosed<T>(promise: Promise<T>, onClientClosed: OnClientClosed): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const forget = onClientClosed(() => resolve(undefined))
    promise.then(resolve, reject).finally(() => forget())
  })
}
