import { parseArgs } from 'node:util'
import type { Report } from './measure.ts'
import { PUBLISHED } from './published.ts'
import { SCHEMES } from './schemes/index.ts'
import { tableOf } from './table.ts'
import { trafficOf } from './traffic.ts'
import { simulateScheme } from './world.ts'

// `npm run simulate -- scale`: what each scheme admits and costs on the same requests.

const print = (text: string): void => void process.stdout.write(`${text}\n`)

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    keys: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '10' },
    limit: { type: 'string', default: '1000' },
    window: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const [nodes, keys, rate, seconds, units, window, seed] = [
  values.nodes,
  values.keys,
  values.rate,
  values.seconds,
  values.limit,
  values.window,
  values.seed,
].map(Number) as [number, number, number, number, number, number, number]

print('| published | source | published as | simulated |\n| --- | --- | ---: | ---: |')
for (const { name, source, published, simulate } of PUBLISHED)
  print(`| ${name} | ${source} | ${published} | ${simulate()} |`)

const limit = { units, windowMicros: window * 1e6 }
const traffic = trafficOf({ nodes, keys, rate, seconds, seed })
print(
  `\n${nodes} nodes, ${keys} keys, ${rate} requests a second for ${seconds} s, ${units} units per ${window} s and key, seed ${seed}\n`,
)
const reports = new Map<string, Report>()
for (const [name, scheme] of Object.entries(SCHEMES)) {
  if (name.includes(values.only)) reports.set(name, simulateScheme(traffic, limit, scheme))
}
print(tableOf(reports))
