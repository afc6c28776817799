// The instructions that a limiter adds to a request, counted by cachegrind: unlike CPU time, they repeat within a hundredth
// or so, whatever else the machine does.

import { execFile, execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { apps } from './apps.ts'
import { titled } from './http.ts'
import { type Case, exactly, type Table, type Target } from './table.ts'

const ADDED = 'instructions added'
const IN_ALL = 'instructions in total'

/** The newest Node of long-term support: it strips types, and requests share a hidden class when a property is added. */
const NODE = 'node@24'

/** Requests after which the code is compiled, and those that are counted. */
const [WARM, COUNTED] = [60_000, 20_000]

const nodePath = (): string =>
  execFileSync('npx', ['--yes', NODE, '-p', 'process.execPath'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .at(-1) as string

/** The instructions of a process that starts an app and sends it this number of requests. */
function instructionsOf(node: string, framework: string, name: string, requests: number): Promise<number> {
  const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
  const valgrind = ['--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null']
  // With one thread, the compiler and the garbage collector run at the same points each time.
  const program = ['--single-threaded', '--import', here('built.mjs'), here('in-process.ts')]
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, NODE_ENV: 'production', NODE_OPTIONS: '' }, maxBuffer: 2 ** 24 }
    execFile(
      'valgrind',
      [...valgrind, node, ...program, framework, name, String(requests)],
      options,
      (error, _, log) => {
        const [, counted] = /I\s+refs:\s+([\d,]+)/.exec(log) ?? []
        if (counted === undefined) reject(error ?? new Error(`valgrind has counted nothing: ${log.slice(-500)}`))
        else resolve(Number(counted.replaceAll(',', '')))
      },
    )
  })
}

async function measure(
  framework: keyof typeof apps,
  targets: readonly Target[],
  progress: (share: number) => void,
): Promise<Table> {
  const node = nodePath()
  const names = Object.keys(apps[framework])
  const totals: number[] = []
  for (const name of names) {
    const warm = await instructionsOf(node, framework, name, WARM)
    totals.push(((await instructionsOf(node, framework, name, WARM + COUNTED)) - warm) / COUNTED)
    progress(totals.length / names.length)
  }
  const [alone = 0] = totals
  return {
    title: `Instructions of a request through ${titled(framework)}`,
    how: `Node 24, one process with the client in it, over a socket in memory. Counted by cachegrind over ${COUNTED.toLocaleString('en')} requests, after ${WARM.toLocaleString('en')} that compile the code.`,
    columns: [ADDED, IN_ALL],
    rows: names.map((name, i) => {
      const total = totals[i] as number
      return { name, figures: [i === 0 ? null : exactly(total - alone), exactly(total)] }
    }),
    targets,
  }
}

const added = (ours: string, theirs: string, atMost: number): Target => ({ ours, theirs, column: ADDED, atMost })

const besideBaselines =
  (framework: keyof typeof apps, form: string): Case =>
  (progress) =>
    measure(
      framework,
      [
        added(`spillway, ${form}`, `hand-written, ${form}`, 1.25),
        added('spillway, denying', 'hand-written, denying', 1.25),
      ],
      progress,
    )

/** The count is the same each time. */
export const processes = 1

const all: Readonly<Record<string, Case>> = {
  express: (progress) =>
    measure(
      'express',
      [
        added('spillway, draft-8', 'hand-written, draft-8, with req.rateLimit', 1.45),
        added('spillway, draft-8', 'express-rate-limit, draft-8', 0.45),
        added('spillway/compat, draft-8', 'express-rate-limit, draft-8', 0.75),
        added('spillway, denying', 'hand-written, denying', 1.25),
      ],
      progress,
    ),
  koa: besideBaselines('koa', 'legacy'),
  hono: besideBaselines('hono', 'draft-6'),
  fastify: besideBaselines('fastify', 'legacy'),
}

/** None without valgrind, which Debian and most other systems have as a package of this name. */
export const cases: Readonly<Record<string, Case>> = hasValgrind() ? all : {}

function hasValgrind(): boolean {
  try {
    execFileSync('valgrind', ['--version'])
    return true
  } catch {
    console.log('Instructions are not counted: valgrind is not installed.')
    return false
  }
}
