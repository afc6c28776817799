// Prints the table of the guide, docs/guides/overload.md: npx tsx packages/shed/test/goodput-table.ts

import { COST, compute, HANDLERS } from './cpu.ts'
import { offer, rate, SERVICES } from './grid.ts'

const row = (name: string, served: number, p99: number, half: number): unknown =>
  process.stdout.write(`| ${[name, served.toFixed(0), p99.toFixed(1), half.toFixed(1)].join(' | ')} |\n`)

const SECONDS = 60
for (const [name, make] of Object.entries(SERVICES)) {
  const [twice, half] = [offer(make, 2, 1, { seconds: SECONDS }), offer(make, 0.5, 1, { seconds: SECONDS })]
  row(name, rate(twice, 5), twice.p99, half.p99)
}
process.stdout.write(`each request takes ${COST} ms of CPU time to read, and each drop as much again:\n`)
for (const [name, handler] of Object.entries(HANDLERS)) {
  const [twice, half] = [compute(handler, 2, 1, { seconds: SECONDS }), compute(handler, 0.5, 1, { seconds: SECONDS })]
  row(name, rate(twice, 5), twice.p99, half.p99)
}
