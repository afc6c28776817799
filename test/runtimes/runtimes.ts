import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import type { Outcome } from './suite.ts'

/** A runtime of JavaScript that starts programs. */
export interface Runtime {
  readonly name: string
  readonly program: string
  /** What comes before the name of a file to run. */
  readonly args: readonly string[]
}

/** Runtimes as npm has them: the oldest Node that is supported, and the newest of each line since. */
export function runtimes(): readonly Runtime[] {
  return [
    ...['20.19.0', '22', '24', '26'].map((version) => node(version)),
    of('Bun', 'bun@1', ['-e', 'console.log(process.execPath, process.versions.bun)'], []),
    of('Deno', 'deno@2', ['eval', 'console.log(Deno.execPath(), Deno.version.deno)'], ['run', '--allow-all']),
  ]
}

const node = (version: string): Runtime =>
  of('Node', `node@${version}`, ['-p', 'process.execPath + " " + process.versions.node'], [])

function of(name: string, spec: string, ask: string[], args: string[]): Runtime {
  const options = { encoding: 'utf8', shell: process.platform === 'win32' } as const
  const told = execFileSync('npx', ['--yes', spec, ...ask], options).trim()
  const space = told.lastIndexOf(' ')
  return { name: `${name} ${told.slice(space + 1)}`, program: told.slice(0, space), args }
}

/** Runs the suites; what came of each. */
export function suitesIn({ program, args }: Runtime, folder: string, file: string): Promise<readonly Outcome[]> {
  return new Promise((resolve, reject) => {
    execFile(
      program,
      [...args, file],
      { cwd: folder, timeout: 300_000, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        if (error) reject(new Error(`${file} failed: ${error.message}\n${stderr}`))
        else
          resolve(
            stdout
              .split('\n')
              .filter((line) => line.startsWith('{'))
              .map((line) => JSON.parse(line) as Outcome),
          )
      },
    )
  })
}

/** A program that serves apps until it is ended. */
export interface Serving {
  /** The port of each app. */
  readonly ports: Readonly<Record<string, number>>
  stop(): void
}

export function serveIn({ program, args }: Runtime, folder: string, file: string): Promise<Serving> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(program, [...args, file], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stderr?.on('data', (chunk) => (said = `${said}${chunk}`))
    child.once('exit', () => reject(new Error(`${file} ended:\n${said}`)))
    child.stdout?.on('data', (chunk) => {
      said = `${said}${chunk}`
      const [line] = /^\{.*\}$/m.exec(said) ?? []
      if (line) resolve({ ports: JSON.parse(line) as Record<string, number>, stop: () => void child.kill('SIGKILL') })
    })
  })
}
