/** Registers what a caller does when it leaves early, and returns how to unregister it. */
export type OnClientClosed = (leave: () => void) => () => void

/** The promise's value; undefined if the client closes the connection first. */
export function waitUnlessClosed<T>(promise: Promise<T>, onClientClosed: OnClientClosed): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const unregister = onClientClosed(() => resolve(undefined))
    // Before it resolves: a lean limiter asks only then whether the client has left.
    promise.finally(() => unregister()).then(resolve, reject)
  })
}
