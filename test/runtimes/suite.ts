import { type TestFunction, testAdapter, testStore } from '@spillway/conformance'
import { endOf, type Outcome } from './outcomes.ts'
import { allMounts } from './servers.ts'
import { allStores, closeClients } from './stores.ts'

// A program: runs the conformance suites where it is started, and prints what came of each as a line of JSON, and at last
// how many there were.

async function run(suite: string, register: (test: TestFunction) => void): Promise<void> {
  const tests: [name: string, body: () => Promise<void>][] = []
  register((name, body) => tests.push([name, body]))
  const failed: string[] = []
  for (const [name, body] of tests) {
    await body().catch((error: unknown) => failed.push(`${name}: ${error instanceof Error ? error.stack : error}`))
  }
  const outcome: Outcome = { suite, passed: tests.length - failed.length, failed }
  console.log(JSON.stringify(outcome))
}

async function main(): Promise<void> {
  for (const [name, make] of Object.entries(allStores)) {
    await run(name, (test) => testStore(test, make, { histories: 60 }))
  }
  await closeClients()
  for (const [name, mount] of Object.entries(allMounts)) await run(name, (test) => testAdapter(test, mount))
  console.log(endOf(Object.keys({ ...allStores, ...allMounts }).length))
}

void main()
