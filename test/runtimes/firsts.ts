import { execFile, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { asked, inNode, type Start } from '../packages/start.ts'
import { freePort } from '../services/redis.ts'
import type { Registry } from './registry.ts'

// How long a new user waits: from `npm init` over the documented install and program to the first 429.

const run = promisify(execFile)
const shell = process.platform === 'win32'

/** The time until a framework denied its first request. */
export interface First {
  readonly name: string
  readonly ms: number
}

/** The time that no framework should take. */
export const GOAL_MS = 10_000

/** Follows a start in a new folder, with packages of a registry. Rejects if the fourth request is not the first denied. */
export async function firstDenial(start: Start, folder: string, { files }: Registry): Promise<First> {
  const cwd = join(folder, `first ${start.name}`)
  const port = await freePort()
  const { name, packages, code } = inNode(start, port)
  mkdirSync(cwd, { recursive: true })
  const { '.npmrc': npmrc = '' } = files
  writeFileSync(join(cwd, '.npmrc'), npmrc)
  const began = performance.now()
  await run('npm', ['init', '--yes'], { cwd, shell })
  await run('npm', ['install', ...packages], { cwd, shell })
  writeFileSync(join(cwd, 'app.mjs'), code)
  const server = spawn(process.execPath, ['app.mjs'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    const ended = new Promise<never>((_, reject) => server.once('exit', () => reject(new Error(`${name} ended`))))
    const statuses = await Promise.race([statusesOf(`http://127.0.0.1:${port}/`), ended])
    const ms = performance.now() - began
    if (String(statuses) !== '200,200,200,429') throw new Error(`${name} answered ${statuses}`)
    return { name, ms }
  } finally {
    server.removeAllListeners('exit')
    server.kill('SIGKILL')
  }
}

/** The statuses of four requests, the first of them as soon as the server listens. */
async function statusesOf(url: string): Promise<readonly number[]> {
  const statuses = [(await asked(url)).status]
  while (statuses.length < 4) statuses.push((await fetch(url)).status)
  return statuses
}

/** What was measured, as lines to print; those over the goal say so. */
export function firstsText(firsts: readonly First[]): string {
  const width = Math.max(...firsts.map(({ name }) => name.length))
  const lines = firsts.map(({ name, ms }) => {
    const over = ms > GOAL_MS ? `, more than ${GOAL_MS / 1_000} s` : ''
    return `  ${name.padEnd(width)}  ${(ms / 1_000).toFixed(1).padStart(5)} s${over}`
  })
  return ['From `npm init` to the first 429, installation included:', ...lines].join('\n')
}
