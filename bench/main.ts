// Measures Spillway and its rivals, prints the results, and writes results.json and docs/performance.md.
// `npm run bench` runs all parts, `npm run bench -- memory` one, `npm run bench -- memory/hot` one case of it,
// and `npm run bench -- pages` none: it only writes the pages.

import { fork } from 'node:child_process'
import { arch, cpus, platform } from 'node:os'
import { answerOf } from './answer.ts'
import { writePages } from './pages.ts'
import { type Part, parts } from './parts.ts'
import { type CaseTable, type Outcome, type Results, readResults, writeResults } from './results.ts'
import { asText, mergeTables, type Table } from './table.ts'

const wanted = process.argv.slice(2)
for (const each of wanted) {
  const [part = ''] = each.split('/')
  if (!parts[part] && part !== 'pages')
    throw new RangeError(`no part ${part}: there are ${Object.keys(parts).join(', ')}`)
}

const machine = `Node ${process.version}, ${platform()} ${arch()}, ${cpus().length} cores`
console.log(`${machine}. Ratios are medians, in brackets the middle half; they repeat within a tenth or so.`)

let results: Results = readResults()
for (const [name, load] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.some((each) => each.split('/')[0] === name)) continue
  const part = await load()
  for (const each of Object.keys(part.cases)) {
    if (!isWanted(name, each)) continue
    const table = await tableOf(name, each, part)
    console.log(asText(table))
    // Saved after each part: the next may take long, or fail.
    results = { ...results, [name]: outcomeWith(results[name]?.tables ?? [], table, Object.keys(part.cases)) }
    writeResults(results)
  }
}
// Read from the file, which has fewer digits.
writePages(readResults())

/** The results of a part with one case replaced, in the order of its cases. */
function outcomeWith(known: readonly CaseTable[], table: CaseTable, order: readonly string[]): Outcome {
  const tables = [...known.filter((each) => each.case !== table.case), table]
  tables.sort((a, b) => order.indexOf(a.case) - order.indexOf(b.case))
  return { day: new Date().toISOString().slice(0, 10), machine, tables }
}

function isWanted(part: string, name: string): boolean {
  return wanted.length === 0 || wanted.includes(part) || wanted.includes(`${part}/${name}`)
}

/** Measures a case in several processes, because the compiler may optimise differently in each. */
async function tableOf(part: string, name: string, { processes = 3, execArgv = [] }: Part): Promise<CaseTable> {
  const tables: Table[] = []
  for (let i = 0; i < processes; i++) tables.push(await measured(part, name, execArgv))
  return { case: name, ...mergeTables(tables) }
}

function measured(part: string, name: string, execArgv: readonly string[]): Promise<Table> {
  const child = fork(new URL('child.ts', import.meta.url), [part, name], {
    execArgv: [...process.execArgv, ...execArgv],
  })
  return answerOf(child, `${part}/${name}`)
}
