// Measures one case of two bundles in this process, and sends how much longer the second takes.

import { measure } from '../measure.ts'
import { workloads } from '../workloads.ts'
import type { SpeedCases } from './speed-case.ts'

interface Revision {
  readonly cases: SpeedCases
  readonly work: (rounds: number) => void
}

const [base = '', head = '', name = '', slowdown = '0', seconds = '1'] = process.argv.slice(2)
const revisions = (await Promise.all([import(base), import(head)])) as [Revision, Revision]
const [reference, candidate] = revisions.map(({ cases }) => cases[name])
if (!reference || !candidate) throw new RangeError(`no case ${name}`)

const { keys, chunk } = candidate
const { keys: all } = workloads[keys]()
const some = all.slice(0, 20 * chunk)
const options = { seconds: Number(seconds), progress: () => {}, chunk }
const extra = Number(slowdown) === 0 ? 0 : await roundsOf(Number(slowdown))

const [, { ratio }] = (await measure(
  { name: 'base', run: reference.make(0) },
  [{ name: 'head', run: candidate.make(extra) }],
  some,
  options,
)) as [unknown, { ratio: { median: number } }]
process.send?.(ratio.median, () => process.exit(0))

/** The rounds of work that take this share of a call. */
async function roundsOf(share: number): Promise<number> {
  const [, call] = await measure(
    { name: 'work', run: (_, from, to) => revisions[1].work(100 * (to - from)) },
    [{ name: 'call', run: (candidate as NonNullable<typeof candidate>).make(0) }],
    some,
    options,
  )
  return 100 * share * (call as { ratio: { median: number } }).ratio.median
}
