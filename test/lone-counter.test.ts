import { type ChildProcess, fork } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { moduleOf } from './docs/check.ts'
import type { Reported } from './docs/runner.ts'
import { samplesOfMarkdown } from './docs/samples.ts'
import { PROGRAM } from './program.ts'
import { type Redis, startRedis } from './services/redis.ts'

// The samples of documents run alone elsewhere. Here each runs where it would be one of several processes.

const root = fileURLToPath(new URL('..', import.meta.url))
const runner = fileURLToPath(new URL('docs/runner.ts', import.meta.url))

/** The code that a document shows and that has this text. */
function sampleIn(document: string, text: string) {
  const found = samplesOfMarkdown(document, readFileSync(join(root, document), 'utf8')).find(({ code }) =>
    code.includes(text),
  )
  if (found === undefined) throw new Error(`${document} has no sample with ${text}`)
  return found
}

let folder: string
let redis: Redis
beforeAll(async () => {
  mkdirSync(join(root, 'test/.cache'), { recursive: true })
  folder = mkdtempSync(join(root, 'test/.cache/lone-'))
  redis = await startRedis()
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await redis.stop()
})

const preload = (code: string): readonly string[] => ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
const WORKERS = "Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Cloudflare-Workers' } })"

interface Place {
  readonly env?: Readonly<Record<string, string>>
  readonly execArgv?: readonly string[]
  readonly workers?: number
}

const pm2 = { pm_id: '0', exec_mode: 'cluster_mode', NODE_APP_INSTANCE: '0' }
const PLACES = {
  'by itself': {},
  'by PM2, as one of four': { env: { ...pm2, instances: '4' } },
  'by PM2, alone': { env: { ...pm2, instances: '1' } },
  'on AWS Lambda': { env: { AWS_LAMBDA_FUNCTION_NAME: 'api' } },
  'on Vercel': { env: { VERCEL: '1' } },
  'on Workers': { execArgv: preload(WORKERS) },
  'in a cluster of two': { workers: 2, execArgv: preload('process.channel.unref()') },
} satisfies Readonly<Record<string, Place>>

/** The lone counters that a process reports until its sample is over. */
async function warningsOf(child: ChildProcess): Promise<readonly string[]> {
  const closed = once(child, 'close')
  let said = ''
  let problem: string | undefined
  child.stdout?.resume()
  child.stderr?.on('data', (chunk) => (said = `${said}${chunk}`))
  child.on('message', (reported: Reported) => {
    if (!reported.over) return
    problem = reported.problem
    child.kill()
  })
  await closed
  expect(problem).toBe(undefined)
  return said.split('\n').filter((line) => line.startsWith('spillway:') && line.includes('in its own memory'))
}

/** The lone counters that each process reports in which a sample runs. */
function warningsIn(place: Place, document: string, text: string): Promise<readonly (readonly string[])[]> {
  const file = join(folder, 'sample.ts')
  writeFileSync(file, moduleOf(sampleIn(document, text)))
  const execArgv = [...PROGRAM, ...(place.execArgv ?? [])]
  const env = { ...process.env, ...place.env, PORTS: JSON.stringify({ 6379: redis.port }) }
  if (place.workers === undefined) {
    const child = fork(runner, [file], { cwd: root, execArgv, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    return Promise.all([warningsOf(child)])
  }
  cluster.setupPrimary({ cwd: root, exec: runner, args: [file], execArgv, silent: true })
  return Promise.all(Array.from({ length: place.workers }, () => warningsOf(cluster.fork(env).process)))
}

const START = 'rateLimit({ quota: perMinute(100) })'
const EACH = 'each of them allows each limit once'
const FOUR = 'all of them together allow 4 times each limit'

type Row = [document: string, text: string, place: keyof typeof PLACES, expected: readonly string[]]

test.each<Row>([
  ['README.md', START, 'by itself', []],
  ['README.md', START, 'by PM2, alone', []],
  ['README.md', START, 'by PM2, as one of four', [FOUR]],
  ['README.md', START, 'on AWS Lambda', [EACH]],
  ['README.md', START, 'on Vercel', [EACH]],
  ['README.md', START, 'in a cluster of two', [EACH, EACH]],
  ...['express', 'fastify', 'h3', 'hono', 'koa', 'node'].map(
    (name): Row => [`packages/${name}/README.md`, START, 'by PM2, as one of four', [FOUR]],
  ),
  ['docs/guides/edge.md', START, 'on Workers', [EACH]],
  ['docs/guides/edge.md', 'trustProxy: 1 })(handler)', 'on Vercel', [EACH]],
  // A lean entry does not look where it runs.
  ['docs/guides/edge.md', 'createRateLimit(trustedProxies)', 'on Workers', []],
  ['docs/guides/edge.md', 'durableObjectStore', 'on Workers', []],
  ['packages/cloudflare/README.md', 'durableObjectStore', 'on Workers', []],
  ['docs/guides/failure.md', 'replicas: 4', 'by PM2, as one of four', []],
  ['docs/guides/troubleshooting.md', 'divideQuota', 'by PM2, as one of four', []],
  ['docs/guides/troubleshooting.md', 'divideQuota', 'in a cluster of two', []],
])('%s: the sample with %s, %s', async (document, text, place, expected) => {
  const warnings = await warningsIn(PLACES[place], document, text)
  const processes = 'workers' in PLACES[place] ? expected.map((each) => [each]) : [expected]
  expect(warnings.map((each) => each.map((line) => [FOUR, EACH].find((total) => line.includes(total))))).toEqual(
    expected.length === 0 ? warnings.map(() => []) : processes,
  )
})
