// The CPU time of decisions in a remote store, by process.

import { readdirSync, readFileSync } from 'node:fs'
import { exactly, type Row, type Table } from './table.ts'

/** Linux counts CPU time in hundredths of a second. */
const TICK_MICROS = 10_000

/** The CPU time of a process and its children, in microseconds. */
function microsOf(root: number): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(name))
  const ours = all.filter((stat) => stat?.pid === root || stat?.parent === root)
  return ours.reduce((sum, stat) => sum + (stat?.ticks ?? 0), 0) * TICK_MICROS
}

/** The statistics of a process; undefined if it has ended. */
function statOf(pid: string): { readonly pid: number; readonly parent: number; readonly ticks: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    // The parent is the second after the name, and user and system time, with those of ended children, the twelfth on.
    return { pid: Number(pid), parent: fields[1] as number, ticks: fields.slice(11, 15).reduce((a, b) => a + b, 0) }
  } catch {
    return undefined
  }
}

/** Makes this number of decisions. */
export type Run = (decisions: number) => Promise<void>

/** A table of the CPU time of each run, of the server and of this process. */
export async function spent(
  { title, how }: Pick<Table, 'title' | 'how'>,
  server: number,
  runs: Readonly<Record<string, Run>>,
  decisions: number,
  progress: (share: number) => void,
): Promise<Table> {
  const rows: Row[] = []
  for (const [name, run] of Object.entries(runs)) {
    await run(decisions / 4)
    const [theirs, own] = [microsOf(server), process.cpuUsage()]
    await run(decisions)
    const { user, system } = process.cpuUsage(own)
    rows.push({ name, figures: [microsOf(server) - theirs, user + system].map((all) => exactly(all / decisions)) })
    progress(rows.length / Object.keys(runs).length)
  }
  return { title, how, columns: ['µs of the server', 'µs of the caller'], rows, aims: [] }
}
