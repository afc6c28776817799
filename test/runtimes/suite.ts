import { type AdapterBounds, testAdapter, testStore } from '@spillway/conformance'
import { bun } from './bun.ts'
import { mounts } from './mounts.ts'
import { endOf } from './outcomes.ts'
import { runSuite } from './run.ts'
import { allMounts } from './servers.ts'
import { allStores, closeClients } from './stores.ts'

// A program: runs the conformance suites where it is started, and prints what came of each as a line of JSON, and at last
// how many there were.

/** For a target with `#`, Koa calls `url.parse` once. That of Bun is written in JavaScript, so that its visits are counted, too. */
const IN_BUN = { mostVisits: 17 }

const boundsOf = (name: string): AdapterBounds =>
  name in mounts ? { parsesUrls: true } : bun && name === 'Koa' ? IN_BUN : {}

async function main(): Promise<void> {
  for (const [name, make] of Object.entries(allStores)) {
    await runSuite(name, (test) => testStore(test, make, { histories: 60 }))
  }
  await closeClients()
  for (const [name, mount] of Object.entries(allMounts))
    await runSuite(name, (test) => testAdapter(test, mount, boundsOf(name)))
  console.log(endOf(Object.keys({ ...allStores, ...allMounts }).length))
}

void main()
