import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../packages/pack.ts'

const PAGE = join(root, 'docs/runtimes.md')
const TABLE = /(<!-- runtimes -->\n)([\s\S]*?)(<!-- \/runtimes -->)/

/** The table of what was run that docs/runtimes.md shows. */
export function readTable(): string {
  return TABLE.exec(readFileSync(PAGE, 'utf8'))?.[2] ?? ''
}

export function writeTable(table: string): void {
  writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(TABLE, `$1\n${table}$3`))
}
