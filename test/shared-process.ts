// Test files of the projects that share processes: a process for each takes longer than most files' tests. A file finds the
// modules of this repository as new, and leaves the process as it was, so that no file depends on those before it.

import { afterAll, expect, vi } from 'vitest'

vi.resetModules()
forgetStates()
const found = traces()

/** What Hono's server for Node replaces. */
const replaced = { Request, Response }

afterAll(() => {
  Object.assign(globalThis, replaced)
  expect(traces(), 'what a test file leaves in its process').toEqual(found)
})

/** Forgets what all copies of the library in a process share. */
function forgetStates(): void {
  const states: object = Reflect.get(globalThis, Symbol.for('spillway')) ?? {}
  for (const key of Object.keys(states)) if (key !== 'shape') Reflect.deleteProperty(states, key)
}

function traces() {
  return {
    directory: process.cwd(),
    environment: { ...process.env },
    functions: new Set([Date, performance.now, setTimeout, fetch, Request, Response]),
    listeners: Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
  }
}
