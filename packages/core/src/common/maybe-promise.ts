import { invalidOption } from './errors.ts'

/** A value, or a promise of it: an in-memory store answers in the same tick, and so does everything that waits for it. */
export type MaybePromise<T> = T | Promise<T>

/** The return type of a function option: a value, or a promise or any other thenable of it. */
export type Awaitable<T> = T | PromiseLike<T>

/** Normalises such a value: a thenable of another library, or a promise of another realm, becomes a promise of this realm. */
export function maybePromise<T>(value: Awaitable<T>): MaybePromise<T> {
  if (value instanceof Promise || !isThenable(value)) return value as MaybePromise<T>
  return Promise.resolve(value)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  return typeof (value as { then?: unknown }).then === 'function'
}

/** Makes a function of one whose results are awaited by `settle` if they can be, and checked. */
export function checked<A, T>(
  call: (about: A) => unknown,
  check: (returned: unknown) => T,
  settle: (returned: unknown) => MaybePromise<unknown> = maybePromise,
): (about: A) => MaybePromise<T> {
  return failing((about: A) => andThen(settle(call(about)), check))
}

/**
 * Makes a function of one whose errors adapters pass on. A framework takes an error such as undefined for none, and would let
 * the request pass.
 */
export const failing =
  <A extends readonly unknown[], T>(call: (...args: A) => MaybePromise<T>) =>
  (...args: A): MaybePromise<T> =>
    caught(() => call(...args), fail)

function fail(thrown: unknown): never {
  if (typeof thrown === 'object' && thrown !== null) throw thrown
  throw invalidOption('functions of the options must throw an Error', thrown)
}

/** The result of a call, or what `failed` returns if it throws or rejects. */
export function caught<T, U>(call: () => MaybePromise<T>, failed: (thrown: unknown) => U): MaybePromise<T | U> {
  try {
    const value = call()
    return value instanceof Promise ? value.catch(failed) : value
  } catch (thrown) {
    return failed(thrown)
  }
}

/** Continues with a value: in the same tick if it is no promise. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** The result of a call as a promise, also if the call returns a value or throws. */
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
