import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './revision.ts'

/** What the compiler does to check a package, which does not depend on the machine. */
export type TypeCost = Readonly<Record<string, number>>

const COUNTED = ['Types', 'Instantiations']

/** The cost of checking core, by what the compiler counts. */
export function typeCostOf(folder: string): TypeCost {
  if (folder !== root) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const anew = ['--noEmit', '--composite', 'false', '--incremental', 'false']
  const args = [tsc, '-p', join(folder, 'packages/core'), ...anew, '--extendedDiagnostics']
  const text = execFileSync(process.execPath, args, { encoding: 'utf8' })
  return Object.fromEntries(
    COUNTED.map((name) => [name, Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1])]),
  )
}
