import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Table } from './table.ts'

/** A table, and the case that made it. */
export interface CaseTable extends Table {
  readonly case: string
}

/** The results of a part, with machine and date. */
export interface Outcome {
  readonly day: string
  readonly machine: string
  readonly tables: readonly CaseTable[]
}

/** The latest results of all parts. */
export type Results = Readonly<Record<string, Outcome>>

/** The table of a title; undefined if it was not measured. */
export const tableOf = (results: Results, part: string, title: string): Table | undefined =>
  results[part]?.tables.find((table) => table.title === title)

const file = new URL('results.json', import.meta.url)

export function readResults(): Results {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

export function writeResults(results: Results): void {
  // Only significant digits: smaller differences should not show in a diff.
  const short = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value
  writeFileSync(file, JSON.stringify(results, short))
  tidy(file)
}

/** Writes a file as the formatter would. */
export function tidy(path: URL): void {
  const biome = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url))
  spawnSync(process.execPath, [biome, 'format', '--write', fileURLToPath(path)])
}
