import { processState } from './process-state.ts'

/** Makes a value once for each object, in all copies of this module, and keeps it for as long as the object lives. */
// So that bundlers leave out what an app does not use.
/* @__NO_SIDE_EFFECTS__ */
export function oncePer<K extends object, V>(name: string, make: (about: K) => V): (about: K) => V {
  let made: WeakMap<K, V> | undefined
  return (about) => {
    made ??= processState(name, () => new WeakMap())
    let known = made.get(about)
    if (known === undefined) {
      known = make(about)
      made.set(about, known)
    }
    return known
  }
}
