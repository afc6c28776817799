import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../packages/pack.ts'
import { compileUser } from './compilers.ts'
import { makeProject } from './project.ts'
import { inRuntime, inWorkerd } from './rows.ts'
import { runtimes } from './runtimes.ts'
import { type Row, tableOf } from './table.ts'

// `npm run test:runtimes`: the packages as they would be published, installed by npm, in every runtime that they are
// for. With `--write` what was run goes to the README.

const folder = mkdtempSync(join(tmpdir(), 'spillway-runtimes-'))
try {
  await makeProject(folder)
  const types = compileUser(folder)
  const rows: Row[] = []
  for (const runtime of runtimes()) rows.push(await inRuntime(runtime, folder))
  rows.push(await inWorkerd(folder))
  const table = tableOf(rows, types)
  console.log(table)
  const failures = [...rows.flatMap(({ failures }) => failures), ...types.failures]
  for (const failure of failures) console.error(`✗ ${failure}`)
  process.exitCode = failures.length === 0 ? 0 : 1
  if (failures.length === 0 && process.argv.includes('--write')) writeTable(table)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function writeTable(table: string): void {
  const readme = join(root, 'README.md')
  const text = readFileSync(readme, 'utf8')
  writeFileSync(readme, text.replace(/(<!-- runtimes -->\n)[\s\S]*?(<!-- \/runtimes -->)/, `$1\n${table}$2`))
}
