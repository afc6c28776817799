// Measures one case of one part in its own process, and sends the table to the parent process.

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
// Some rivals leave one timer per key, which would keep the process alive.
process.send?.(table, () => process.exit(0))
