import { oncePer } from './once-per.ts'

interface Shared {
  readonly listeners: Set<() => void>
  stop: () => void
}

/**
 * Listens to each target with one listener for all callers, for as long as there are any: Node warns of a leak if a target has
 * more than ten. `listen` registers that one, and returns how to unregister it.
 */
/* @__NO_SIDE_EFFECTS__ */
export function sharedListeners<T extends object>(
  name: string,
  listen: (target: T, listener: () => void) => () => void,
): (target: T, listener: () => void) => () => void {
  const sharedOf = oncePer(name, (_: T): Shared => ({ listeners: new Set(), stop: () => {} }))
  return (target, listener) => {
    const shared = sharedOf(target)
    const { listeners } = shared
    // Its own function: one listener may be passed twice.
    const own = (): void => listener()
    listeners.add(own)
    if (listeners.size === 1) {
      shared.stop = listen(target, () => {
        for (const each of listeners) each()
      })
    }
    return () => {
      if (listeners.delete(own) && listeners.size === 0) shared.stop()
    }
  }
}
