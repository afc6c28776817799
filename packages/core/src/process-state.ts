/** Change the number whenever the shape of a shared state changes. */
const KEY = Symbol.for('spillway/1')

type States = Record<string, unknown>

let known: States | undefined

/**
 * A state that all copies of this module in the process share: an app may import one and require another, or have two
 * versions installed, and they count together.
 */
export function processState<T>(name: string, make: () => T): T {
  known ??= statesOf(globalThis as { [KEY]?: States })
  known[name] ??= make()
  return known[name] as T
}

function statesOf(global: { [KEY]?: States }): States {
  const states = global[KEY] ?? {}
  // A frozen global object stays as it is: each copy then has states of its own.
  Reflect.defineProperty(global, KEY, { value: states })
  return states
}
