import type { TestFunction } from '@spillway/conformance'
import type { Outcome } from './outcomes.ts'

/** Runs the tests of a suite one after another, and prints what came of them as a line of JSON. */
export async function runSuite(suite: string, register: (test: TestFunction) => void): Promise<void> {
  const tests: [name: string, body: () => Promise<void>][] = []
  register((name, body) => tests.push([name, body]))
  const failed: string[] = []
  for (const [name, body] of tests) {
    await body().catch((error: unknown) => failed.push(`${name}: ${error instanceof Error ? error.stack : error}`))
  }
  const outcome: Outcome = { suite, passed: tests.length - failed.length, failed }
  console.log(JSON.stringify(outcome))
}
