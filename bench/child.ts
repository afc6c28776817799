// Measures one case of one part, in a process of its own, and hands the table to the process that started it.

import { parts } from './parts.ts'

const [partName = '', caseName = ''] = process.argv.slice(2)
const part = await parts[partName]?.()
const measure = part?.cases[caseName]
if (!measure) throw new RangeError(`no case ${caseName} in part ${partName}`)

const progress = (share: number): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r${partName} ${caseName}: ${Math.round(share * 100)} %   `)
}
const table = await measure(progress)
if (process.stderr.isTTY) process.stderr.write('\r')
// Some rivals leave timers behind, one a key: they would keep the process for as long as those run.
process.send?.(table, () => process.exit(0))
