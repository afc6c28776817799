import { testAdapter, testStore } from '@spillway/conformance'
import { endOf } from './outcomes.ts'
import { runSuite } from './run.ts'
import { allMounts } from './servers.ts'
import { allStores, closeClients } from './stores.ts'

// A program: runs the conformance suites where it is started, and prints what came of each as a line of JSON, and at last
// how many there were.

async function main(): Promise<void> {
  for (const [name, make] of Object.entries(allStores)) {
    await runSuite(name, (test) => testStore(test, make, { histories: 60 }))
  }
  await closeClients()
  for (const [name, mount] of Object.entries(allMounts)) await runSuite(name, (test) => testAdapter(test, mount))
  console.log(endOf(Object.keys({ ...allStores, ...allMounts }).length))
}

void main()
