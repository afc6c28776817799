/**
 * A function that runs a call in the asynchronous context of now, as `AsyncLocalStorage` reads it, wherever it is called: a
 * server reports the end of a response in any context. The continuation of a promise runs in the context in which it was
 * made, in all runtimes, without a module of Node. The function is called once.
 */
export function inThisContext<A extends readonly unknown[], T>(
  call: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let run = (_: A): void => {}
  const called = new Promise<A>((resolve) => {
    run = resolve
  }).then((args) => call(...args))
  return (...args) => {
    run(args)
    return called
  }
}
