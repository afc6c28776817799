// Measures one case of two bundles in this process, and sends how much longer the second takes.

import { type Candidate, measure } from '../measure.ts'
import { workloads } from '../workloads.ts'
import type { Revision } from './compare.ts'
import type { SpeedCase, SpeedCases } from './speed-case.ts'

const [revisions = '[]', name = '', seconds = '1'] = process.argv.slice(2)

/** Takes a share longer. It waits outside of the calls, so that compilers optimise them as they do without it. */
const slowed = (run: Candidate['run'], share: number): Candidate['run'] => {
  if (share === 0) return run
  return async (keys, from, to) => {
    const start = performance.now()
    await run(keys, from, to)
    const end = performance.now()
    while (performance.now() < end + share * (end - start));
  }
}

async function caseOf({ bundle, slowdown }: Revision): Promise<Omit<SpeedCase, 'make'> & Candidate> {
  const { cases }: { cases: SpeedCases } = await import(bundle)
  const found = cases[name]
  if (!found) throw new RangeError(`no case ${name}`)
  return { ...found, name: bundle, run: slowed(found.make(), slowdown) }
}

const [base, head] = JSON.parse(revisions) as readonly [Revision, Revision]
const [reference, candidate] = [await caseOf(base), await caseOf(head)]
const { keys, chunk } = candidate
const options = { seconds: Number(seconds), progress: () => {}, chunk }
const [, result] = await measure(reference, [candidate], workloads[keys]().keys.slice(0, 20 * chunk), options)
process.send?.(result?.ratio.median, () => process.exit(0))
