import { QuotaError } from './errors.ts'

/** Change the number whenever the shape of a shared state changes. */
const SHAPE = 1

const KEY = Symbol.for('spillway')

/** The shape, and the states by their names. */
type States = Record<string, unknown>

let known: States | undefined

/**
 * A state that all copies of this module in the process share: an app may import one and require another, or have two
 * versions installed, and they count together. Versions whose states have different shapes cannot: the second one throws.
 */
// So that bundlers leave out what an app does not use.
/* @__NO_SIDE_EFFECTS__ */
export function processState<T>(name: string, make: () => T): T {
  known ??= statesOf(globalThis as { [KEY]?: States })
  known[name] ??= make()
  return known[name] as T
}

function statesOf(global: { [KEY]?: States }): States {
  const states = global[KEY] ?? { shape: SHAPE }
  if (states['shape'] !== SHAPE) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'two versions of @spillway/core cannot count together: install one (npm ls @spillway/core).',
    )
  }
  // A frozen global object stays as it is: each copy then has states of its own.
  Reflect.defineProperty(global, KEY, { value: states })
  return states
}
