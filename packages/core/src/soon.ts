/** A value that is there now, or will be: stores in this process answer at once, and so does all that waits for them. */
export type Soon<T> = T | Promise<T>

/** Goes on with a value when it is there: at once, if it is. */
export function andThen<T, U>(soon: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return soon instanceof Promise ? soon.then(next) : next(soon)
}

/** What a call answers, as a promise: also where it has the answer at once, or throws. */
export function promised<A extends readonly unknown[], T>(call: (...args: A) => Soon<T>, ...args: A): Promise<T> {
  try {
    return Promise.resolve(call(...args))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** All values when all are there. */
export function all<T>(soons: readonly Soon<T>[]): Soon<readonly T[]> {
  return soons.some((soon) => soon instanceof Promise) ? Promise.all(soons) : (soons as readonly T[])
}
