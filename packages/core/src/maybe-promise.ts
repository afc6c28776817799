/** A value, or a promise of it: an in-memory store answers in the same tick, and so does everything that waits for it. */
export type MaybePromise<T> = T | Promise<T>

/** Continues with a value: in the same tick if it is no promise. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** What a call returns, as a promise: also if it returns at once, or throws. */
export function promised<A extends readonly unknown[], T>(
  call: (...args: A) => MaybePromise<T>,
  ...args: A
): Promise<T> {
  try {
    return Promise.resolve(call(...args))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** All values: in the same tick if none of them is a promise. */
export function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
}
