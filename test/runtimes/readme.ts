import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../packages/pack.ts'

const README = join(root, 'README.md')
const TABLE = /(<!-- runtimes -->\n)([\s\S]*?)(<!-- \/runtimes -->)/

/** The table of what was run that the README shows. */
export function readTable(): string {
  return TABLE.exec(readFileSync(README, 'utf8'))?.[2] ?? ''
}

export function writeTable(table: string): void {
  writeFileSync(README, readFileSync(README, 'utf8').replace(TABLE, `$1\n${table}$3`))
}
