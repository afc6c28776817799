// The CPU time of decisions in a remote store, by process.

import { readdirSync, readFileSync } from 'node:fs'
import { figureOf, type Row, type Table } from './table.ts'

/** The CPU time of a process and its children, in microseconds. */
function microsOf(root: number): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const ours = pids.filter((pid) => Number(pid) === root || parentOf(pid) === root)
  return ours.reduce((sum, pid) => sum + nanosOf(pid), 0) / 1_000
}

/** The parent of a process; undefined if it has ended. */
function parentOf(pid: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field after the name.
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** The time that the threads of a process have run, in nanoseconds: `stat` counts hundredths of a second. */
function nanosOf(pid: string): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const times = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
    return times.reduce((sum, nanos) => sum + Number(nanos), 0)
  } catch {
    return 0
  }
}

/** The column with the CPU time of the server. */
export const SERVER_MICROS = 'µs of the server'

/** Makes this number of decisions. */
export type Run = (decisions: number) => Promise<void>

/** How many turns each run has: a temporary slowdown of the machine affects a turn of all. */
const TURNS = 10

/** A table of the CPU time of each run, of the server and of this process. The runs alternate in turns. */
export async function spent(
  { title, how }: Pick<Table, 'title' | 'how'>,
  server: number,
  runs: Readonly<Record<string, Run>>,
  decisions: number,
  progress: (share: number) => void,
): Promise<Table> {
  const all = Object.entries(runs).map(([name, run]) => ({ name, run, theirs: [] as number[], own: [] as number[] }))
  const each = Math.ceil(decisions / TURNS)
  for (const { run } of all) await run(decisions / 4)
  for (let turn = 0; turn < TURNS; turn++) {
    for (const { run, theirs, own } of turn % 2 === 0 ? all : all.toReversed()) {
      const [before, usage] = [microsOf(server), process.cpuUsage()]
      await run(each)
      const { user, system } = process.cpuUsage(usage)
      theirs.push((microsOf(server) - before) / each)
      own.push((user + system) / each)
    }
    progress((turn + 1) / TURNS)
  }
  const rows = all.map(({ name, theirs, own }): Row => ({ name, figures: [figureOf(theirs), figureOf(own)] }))
  return { title, how, columns: [SERVER_MICROS, 'µs of the caller'], rows, targets: [] }
}
