import { execFile, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../packages/pack.ts'
import { asked } from '../packages/start.ts'
import { freePort } from '../services/redis.ts'
import { type MetaFramework, metaFrameworks } from './meta-projects.ts'
import type { Registry } from './registry.ts'

// The samples of examples/meta-frameworks in apps of the real frameworks: built for production, and asked over HTTP.

const run = promisify(execFile)

/** Writes the app of a framework, with the samples in their places. */
export function writeApp({ files, samples, dependencies }: MetaFramework, cwd: string, registry: Registry): void {
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies })
  const { '.npmrc': npmrc = '' } = registry.files
  for (const [file, text] of Object.entries({ ...files, 'package.json': manifest, '.npmrc': npmrc })) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true })
    writeFileSync(join(cwd, file), text)
  }
  for (const [sample, file] of Object.entries(samples)) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true })
    copyFileSync(join(root, 'examples', sample), join(cwd, file))
  }
}

/** Builds an app, serves it, and returns what is wrong with its limits, if anything. */
export async function tryApp(framework: MetaFramework, cwd: string, node: string): Promise<string | undefined> {
  const env = { ...process.env, ...framework.env, NODE_ENV: 'production' }
  await run(node, [...framework.build], { cwd, env, maxBuffer: 2 ** 26 })
  const port = await freePort()
  const server = spawn(node, [...framework.start], {
    cwd,
    env: { ...env, HOST: '127.0.0.1', PORT: String(port), NITRO_HOST: '127.0.0.1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  try {
    const ended = new Promise<never>((_, reject) => server.once('exit', () => reject(new Error('its server ended'))))
    const url = `http://127.0.0.1:${port}`
    await Promise.race([asked(url), ended])
    for (const [path, limit] of Object.entries(framework.limits)) {
      const wrong = await tryLimit(url + path, limit)
      if (wrong !== undefined) return `${path}: ${wrong}`
    }
    return undefined
  } finally {
    server.removeAllListeners('exit')
    server.kill('SIGKILL')
  }
}

/** Exceeds a limit as one client, and asks as another. */
async function tryLimit(url: string, limit: number): Promise<string | undefined> {
  const ask = (client: string) => fetch(url, { headers: { 'x-forwarded-for': client } })
  const statuses: number[] = []
  let denied: Response | undefined
  while (denied === undefined && statuses.length <= limit * 2) {
    const answer = await ask('192.0.2.1')
    statuses.push(answer.status)
    if (answer.status === 429) denied = answer
  }
  if (statuses.filter((status) => status === 200).length < limit - 1) return `answered ${statuses.slice(0, 10)} …`
  if (denied === undefined) return `denied none of ${statuses.length} requests`
  if (!denied.headers.get('retry-after')) return 'denied a request without Retry-After'
  if (denied.headers.get('content-type') !== 'application/problem+json') return 'denied a request without a problem'
  return undefined
}

/** The frameworks whose apps limit requests, with their versions, and what went wrong with the others. */
export async function inMetaFrameworks(folder: string, registry: Registry, node: string) {
  const [names, failures]: [string[], string[]] = [[], []]
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  for (const framework of metaFrameworks) {
    const cwd = join(folder, `in ${framework.name}`)
    writeApp(framework, cwd, registry)
    try {
      await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd, env })
      const wrong = await tryApp(framework, cwd, node)
      if (wrong !== undefined) throw new Error(wrong)
      names.push(framework.name)
    } catch (error) {
      failures.push(`${framework.name}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return { names, failures }
}
