import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { type Outcome, outcomesOf } from './outcomes.ts'

/** A runtime of JavaScript that starts programs. */
export interface Runtime {
  readonly name: string
  readonly program: string
  /** What comes before the name of a file to run. */
  readonly args: readonly string[]
  /** Programs with suites that run in this runtime only. */
  readonly suites?: readonly string[]
  /** How it serves the default export of the example, if it can by itself. */
  readonly exports?: readonly string[]
}

/** Runtimes as npm has them: the oldest Node that is supported, and the newest of each line since. */
export function runtimes(): readonly Runtime[] {
  return [
    ...['20.19.0', '22', '24', '26'].map((version) => node(version)),
    {
      ...of('Bun', 'bun@1', ['-e', 'console.log(process.execPath, process.versions.bun)'], []),
      exports: ['example-here.mjs'],
      suites: ['elysia.mjs'],
    },
    {
      ...of('Deno', 'deno@2', ['eval', 'console.log(Deno.execPath(), Deno.version.deno)'], ['run', '--allow-all']),
      exports: ['serve', '--allow-net', '--host=127.0.0.1', '--port=0', 'example.mjs'],
    },
  ]
}

const node = (version: string): Runtime =>
  of('Node', `node@${version}`, ['-p', 'process.execPath + " " + process.versions.node'], [])

function of(name: string, spec: string, ask: string[], args: string[]): Runtime {
  const options = { encoding: 'utf8', shell: process.platform === 'win32' } as const
  const reported = execFileSync('npx', ['--yes', spec, ...ask], options).trim()
  const space = reported.lastIndexOf(' ')
  return { name: `${name} ${reported.slice(space + 1)}`, program: reported.slice(0, space), args }
}

/** Runs the suites against servers that the environment leads to; what came of each. */
export function suitesIn(
  { program, args }: Runtime,
  folder: string,
  file: string,
  env: NodeJS.ProcessEnv,
): Promise<readonly Outcome[]> {
  const options = { cwd: folder, env: { ...process.env, ...env }, timeout: 300_000, maxBuffer: 2 ** 26 }
  return new Promise((resolve, reject) => {
    execFile(program, [...args, file], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${file} failed: ${error.message}\n${stderr}`))
      else resolve(outcomesOf(stdout))
    })
  })
}

/** A program that serves until it is ended. */
export interface Serving {
  /** What it said when it was ready. */
  readonly ready: string
  stop(): void
}

/** Starts a program, and waits until it says that it is ready. */
function serving(program: string, args: readonly string[], folder: string, ready: RegExp): Promise<Serving> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.once('exit', () => reject(new Error(`${args.join(' ')} ended:\n${said}`)))
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        said = `${said}${chunk}`
        const [line] = ready.exec(said) ?? []
        if (line) resolve({ ready: line, stop: () => void child.kill('SIGKILL') })
      })
    }
  })
}

/** Starts the servers of the story, each of which has a port. */
export async function serveIn({ program, args }: Runtime, folder: string, file: string) {
  const { ready, stop } = await serving(program, [...args, file], folder, /^\{.*\}$/m)
  return { ports: JSON.parse(ready) as Record<string, number>, stop }
}

/** Serves what a module exports by default, where the runtime has a way to: undefined where it has none. */
export function serveExportIn({ program, exports }: Runtime, folder: string): Promise<Serving> | undefined {
  return exports && serving(program, exports, folder, /http:\/\/127\.0\.0\.1:\d+/)
}
