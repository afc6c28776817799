// How much a decision in memory costs, as a multiple of the least it could cost.
// `tsc -b && tsx --import ./bench/built.mjs bench/main.ts [workload,…] [seconds each]`

import { field, sink } from './decisions.ts'
import { measure, type Result } from './measure.ts'
import { workloads } from './workloads.ts'

const [names = Object.keys(workloads).join(), seconds = '8'] = process.argv.slice(2)

function print(results: readonly Result[]): void {
  const width = Math.max(...results.map(({ name }) => name.length))
  console.log(`  ${'ratio to the floor (middle half)'.padStart(width + 32)}   ns each`)
  for (const { name, ratio, low, high, nanos } of results) {
    const spread = `${ratio.toFixed(2)} (${low.toFixed(2)} – ${high.toFixed(2)})`
    console.log(`  ${name.padEnd(width)} ${spread.padStart(31)}   ${nanos.toFixed(0).padStart(7)}`)
  }
}

console.log(`Node ${process.version}, ${process.arch}. Ratios repeat within a tenth or so; nanoseconds do not.`)
for (const name of names.split(',')) {
  const make = workloads[name]
  if (!make) throw new RangeError(`no workload ${name}: there are ${Object.keys(workloads).join(', ')}`)
  const { name: title, keys, distinct } = make()
  const { floor, rivals } = field(Math.max(distinct, 100_000))
  const progress = (share: number): void => {
    if (process.stdout.isTTY) process.stdout.write(`\r${title}: ${Math.round(share * 100)} %`)
  }
  const results = await measure(floor, rivals, keys, { seconds: Number(seconds), progress })
  console.log(`${process.stdout.isTTY ? '\r' : ''}${title}      `)
  print(results)
}
// Some rivals leave timers behind, one a key.
process.exit(sink.seen > 0 ? 0 : 1)
