// Measures Spillway beside its rivals, prints what came of it, and writes results.json and docs/performance.md.
// `npm run bench` runs all parts, `npm run bench -- memory` one, `npm run bench -- memory/hot` one case of it,
// and `npm run bench -- pages` none: it writes the pages anew.

import { fork } from 'node:child_process'
import { arch, cpus, platform } from 'node:os'
import { writePages } from './pages.ts'
import { type Part, parts } from './parts.ts'
import { type Results, readResults, writeResults } from './results.ts'
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
  const cases = Object.keys(part.cases).filter((each) => isWanted(name, each))
  const known = results[name]?.tables ?? []
  const tables: Table[] = []
  for (const each of Object.keys(part.cases)) {
    const table = cases.includes(each) ? await tableOf(name, each, part) : known[tables.length]
    if (table) tables.push(table)
    if (table && cases.includes(each)) console.log(asText(table))
  }
  results = { ...results, [name]: { day: new Date().toISOString().slice(0, 10), machine, tables } }
  writeResults(results)
}
writePages(results)

function isWanted(part: string, name: string): boolean {
  return wanted.length === 0 || wanted.includes(part) || wanted.includes(`${part}/${name}`)
}

/** Measures a case in several processes: in each, the compiler may come to other conclusions. */
async function tableOf(part: string, name: string, { processes = 3, execArgv = [] }: Part): Promise<Table> {
  const tables: Table[] = []
  for (let i = 0; i < processes; i++) tables.push(await measured(part, name, execArgv))
  return mergeTables(tables)
}

function measured(part: string, name: string, execArgv: readonly string[]): Promise<Table> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('child.ts', import.meta.url), [part, name], {
      execArgv: [...process.execArgv, ...execArgv],
    })
    child.once('message', (table) => resolve(table as Table))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${part}/${name} ended without an answer, with code ${code}`)))
  })
}
