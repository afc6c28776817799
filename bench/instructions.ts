// The instructions that a limiter adds to a request, counted by cachegrind: unlike CPU time, they do not depend on the load of
// the machine.

import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { apps } from './apps.ts'
import { titled } from './http.ts'
import { type Case, type Figure, figureOf, type Table, type Target } from './table.ts'

const ADDED = 'instructions added'
const IN_ALL = 'instructions in total'

/** The newest Node of long-term support: in older ones, requests share no hidden class when a property is added. */
const NODE = 'node@24'

/**
 * One thread, which compiles and collects garbage at the same points each time. It compiles a function after a quarter or a
 * sixth of the usual number of calls.
 */
const ENGINE = [
  '--single-threaded',
  '--no-memory-reducer',
  '--invocation-count-for-maglev=100',
  '--invocation-count-for-turbofan=500',
  '--minimum-invocations-after-ic-update=100',
]

/** The requests of a block. */
const BLOCK = 1_000
/** Blocks after which the code is compiled, and those that are counted. */
const [WARM, COUNTED] = [14, 6]

const nodePath = (): string =>
  execFileSync('npx', ['--yes', NODE, '-p', 'process.execPath'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .at(-1) as string

/** Bundles the apps into one file: loading hundreds takes more instructions than the requests. */
async function bundleApps(folder: string): Promise<string> {
  const outfile = join(folder, 'in-process.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('in-process.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // Packages in CommonJS load Node's modules with require().
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
    // Stores of peers, which are not measured.
    external: ['mongoose', 'sequelize'],
  })
  return outfile
}

/** The instructions of a request: the median of the blocks, because in some the engine compiles or collects garbage. */
function perRequest(program: readonly string[]): Promise<Figure> {
  const valgrind = ['--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null']
  const options = { env: { ...process.env, NODE_ENV: 'production', NODE_OPTIONS: '' }, maxBuffer: 2 ** 24 }
  return new Promise((resolve, reject) => {
    execFile('valgrind', [...valgrind, ...program, String(WARM + COUNTED), String(BLOCK)], options, (error, _, log) => {
      const reports = [...log.matchAll(/I\s+refs:\s+([\d,]+)/g)].map(([, count]) => Number(count?.replaceAll(',', '')))
      // The last report is that of the end of the process.
      if (error || reports.length !== WARM + COUNTED + 1) {
        reject(error ?? new Error(`valgrind has not counted ${WARM + COUNTED} blocks: ${log.slice(-500)}`))
        return
      }
      const counted = reports.slice(WARM, -1)
      resolve(figureOf(counted.map((count, i) => (count - (reports[WARM + i - 1] as number)) / BLOCK)))
    })
  })
}

/** Counts a request without a limiter, and behind those that the targets compare. */
async function measure(
  framework: keyof typeof apps,
  targets: readonly Target[],
  progress: (share: number) => void,
): Promise<Table> {
  const compared = targets.flatMap(({ ours, theirs }) => [ours, theirs])
  const names = Object.keys(apps[framework]).filter((name, i) => i === 0 || compared.includes(name))
  const folder = mkdtempSync(join(tmpdir(), 'spillway-instructions-'))
  const totals: Figure[] = []
  try {
    const program = [nodePath(), ...ENGINE, await bundleApps(folder), framework]
    for (const name of names) {
      totals.push(await perRequest([...program, name]))
      progress(totals.length / names.length)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  const [alone] = totals as [Figure, ...Figure[]]
  return {
    title: `Instructions of a request through ${titled(framework)}`,
    how: `Node 24, one process with the client in it, over a socket in memory. Counted by valgrind in ${COUNTED} blocks of ${BLOCK.toLocaleString('en')} requests, after ${WARM} blocks in which the code is compiled.`,
    columns: [ADDED, IN_ALL],
    rows: names.map((name, i) => {
      const total = totals[i] as Figure
      return { name, figures: [i === 0 ? null : minus(total, alone.median), total] }
    }),
    targets,
  }
}

const minus = ({ median, low, high }: Figure, less: number): Figure => ({
  median: median - less,
  low: low - less,
  high: high - less,
})

const added = (ours: string, theirs: string, atMost: number): Target => ({ ours, theirs, column: ADDED, atMost })
const inAll = (ours: string, theirs: string, atMost: number): Target => ({ ours, theirs, column: IN_ALL, atMost })

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

/** The count hardly differs from process to process. */
export const processes = 1

const all: Readonly<Record<string, Case>> = {
  node: besideBaselines('node', 'draft-8'),
  express: (progress) =>
    measure(
      'express',
      [
        added('spillway, draft-8', 'hand-written, draft-8, with req.rateLimit', 1.45),
        added('spillway, draft-8', 'express-rate-limit, draft-8', 0.45),
        added('spillway/compat, draft-8', 'express-rate-limit, draft-8', 0.75),
        added('spillway, draft-8, with all algorithms in use', 'spillway, draft-8', 1.3),
        // In all: without the router, denials take fewer instructions than the route, and nothing is added.
        inAll('spillway, denying', 'hand-written, denying', 1.1),
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
