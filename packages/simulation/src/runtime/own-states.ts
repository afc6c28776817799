import { currentProcess, type Globals } from './globals.ts'

/** What a process has once, by its name in core, and each simulated process has for itself. */
const OWN: readonly string[] = ['heartbeats']

const real: Record<string, unknown> = {}
const simulated = new WeakMap<Globals, Record<string, unknown>>()

function ownStates(): Record<string, unknown> {
  const process = currentProcess()
  if (process === undefined) return real
  const states = simulated.get(process) ?? {}
  simulated.set(process, states)
  return states
}

/** Gives each simulated process states of its own. Core has made those of this process when it was loaded. */
export function separateStates(): void {
  const states = (globalThis as Record<symbol, unknown>)[Symbol.for('spillway')] as object
  for (const name of OWN) {
    Object.defineProperty(states, name, {
      get: () => ownStates()[name],
      set: (value) => {
        ownStates()[name] = value
      },
      configurable: true,
    })
  }
}
