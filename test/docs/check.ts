import { fork, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { names, readManifest } from '../packages/pack.ts'
import { PROGRAM } from '../program.ts'
import { preludes } from './preludes.ts'
import type { Reported } from './runner.ts'
import type { Sample } from './samples.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runner = fileURLToPath(new URL('runner.ts', import.meta.url))

/** An error of a sample: its place in the document, and the reason. */
export interface Problem {
  readonly document: string
  readonly line: number
  readonly message: string
}

/** The ports at which a sample finds the databases that it looks for at the usual ones: `{ 6379: 40123 }`. */
export type Ports = Readonly<Record<number, number>>

/** How samples run: each for `limitMs` at most, with databases at these ports or as this environment says. */
interface Terms {
  readonly limitMs: number
  readonly ports: Ports
  readonly env: Readonly<Record<string, string>>
}

/** A suite of a sample takes 10 s, and took 120 s beside four runs of all tests and three busy loops. */
const LIMIT_MS = 600_000

/** Compiles samples, all together, and runs each that compiles. */
export async function problemsOf(
  samples: readonly Sample[],
  { limitMs = LIMIT_MS, ports = {}, env = {} }: Partial<Terms> = {},
): Promise<readonly Problem[]> {
  // Inside of this package, where imports find the workspace and the frameworks.
  const cache = join(root, 'test/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'samples-'))
  try {
    const files = new Map(samples.map((sample, i) => [join(folder, `sample-${i}.ts`), sample]))
    for (const [file, sample] of files) writeFileSync(file, moduleOf(sample))
    const mistyped = compile(folder, files)
    const failed = new Map<string, string>()
    const sound = [...files.keys()].filter((file) => !mistyped.some(({ sample }) => sample === files.get(file)))
    // A sample with its own test suite needs its own process.
    const suites = sound.filter((file) => moduleOf(files.get(file) as Sample).includes("'node:test'"))
    const others = sound.filter((file) => !suites.includes(file))
    await Promise.all(
      [others, ...suites.map((file) => [file])].map((batch) => run(batch, { limitMs, ports, env }, failed)),
    )
    return [
      ...mistyped.map(({ sample, line, message }) => ({ document: sample.document, line, message })),
      ...[...files].flatMap(([file, { document, line }]) => {
        const message = failed.get(file)
        return message === undefined ? [] : [{ document, line, message }]
      }),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A sample as a module: its prelude on the first line, where there is one, and an empty line where there is none. */
export function moduleOf({ document, line, code, prelude }: Sample): string {
  const before = prelude === undefined ? '' : preludes[prelude]
  if (before === undefined) throw new Error(`${document}:${line} names an unknown prelude: ${prelude}`)
  return `${before}\n${code}\nexport {}\n`
}

/**
 * The declarations that users have of each entry, after `npm test` has built them: they compile in half the time of the sources.
 * Those for h3 1 would find h3 2, beside which they are built.
 */
function declarations(): Readonly<Record<string, readonly string[]>> {
  const entries = names.flatMap((name) => {
    const folder = join(root, 'packages', name)
    const { publishConfig } = readManifest(folder)
    return Object.entries(publishConfig?.exports ?? {}).flatMap(
      ([
        path,
        {
          default: { types },
        },
      ]) =>
        types === undefined || types.includes('/v1')
          ? []
          : [[`@spillway/${name}${path.slice(1)}`, [join(folder, types)]] as const],
    )
  })
  return Object.fromEntries(entries)
}

interface Mistyped {
  readonly sample: Sample
  readonly line: number
  readonly message: string
}

function compile(folder: string, files: ReadonlyMap<string, Sample>): readonly Mistyped[] {
  const compilerOptions = {
    incremental: false,
    tsBuildInfoFile: null,
    noUnusedLocals: false,
    noUnusedParameters: false,
    ...(process.env['BUILT'] ? { paths: declarations() } : {}),
  }
  const config = { extends: relative(folder, join(root, 'tsconfig.tests.json')).replaceAll('\\', '/'), compilerOptions }
  const ambient = join(root, 'packages/*/types')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, include: ['*.ts', ambient] }))
  const tsc = join(root, 'node_modules/.bin/tsc')
  const { stdout, status, error } = spawnSync(tsc, ['-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (error) throw error
  const mistyped = [...stdout.matchAll(/^(\S+\.ts)\((\d+),\d+\): error (.*)$/gm)].map(([, path, line, message]) => {
    const sample = files.get(join(folder, basename(path as string)))
    if (!sample) throw new Error(stdout)
    return { sample, line: sample.line + Number(line) - 2, message: message as string }
  })
  if (status !== 0 && mistyped.length === 0) throw new Error(stdout)
  return mistyped
}

/** Runs files in a separate process. If a file does not end, the files after it run in another process. */
async function run(files: readonly string[], terms: Terms, failed: Map<string, string>): Promise<void> {
  const left = new Set(files)
  while (left.size > 0) await runSome([...left], terms, failed, (file) => left.delete(file))
}

const configOf = ([file = '']: readonly string[]): string => join(dirname(file), 'tsconfig.json')

function runSome(
  files: readonly string[],
  { limitMs, ports, env }: Terms,
  failed: Map<string, string>,
  done: (file: string) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let watch: NodeJS.Timeout | undefined
    let current: string | undefined
    const give = (file: string, problem?: string): void => {
      clearTimeout(watch)
      current = undefined
      if (problem !== undefined) failed.set(file, problem)
      done(file)
    }
    const child = fork(runner, files, {
      cwd: root,
      execArgv: [...PROGRAM],
      // The compiler's options, of which tsx needs those about decorators.
      // Other tests have the random histories of a suite: a sample shows that it runs.
      env: {
        SPILLWAY_RUNS: '0.1',
        ...process.env,
        ...env,
        PORTS: JSON.stringify(ports),
        TSX_TSCONFIG_PATH: configOf(files),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said = `${said}${chunk}`))
    child.on('message', ({ file, over, problem }: Reported) => {
      if (over) return give(file, problem)
      current = file
      said = ''
      watch = setTimeout(() => {
        give(file, `it does not end within ${limitMs} ms`)
        child.kill('SIGKILL')
      }, limitMs)
    })
    child.on('close', () => {
      if (current !== undefined) give(current, `it ends the process: ${said.slice(-500)}`)
      // A suite reports failures only in its output.
      const [suite = ''] = files.length === 1 ? files : []
      if (failed.has(suite)) failed.set(suite, `${failed.get(suite)} ${said.slice(-2000)}`.trim())
      resolve()
    })
  })
}
