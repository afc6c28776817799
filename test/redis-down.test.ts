import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { moduleOf } from './docs/check.ts'
import { type Sample, samplesOfMarkdown } from './docs/samples.ts'
import { PROGRAM } from './program.ts'
import { freePort, startRedis } from './services/redis.ts'

// Samples are copied. With Redis down, that of README printed "[ioredis] Unhandled error event" without end, that of node-redis
// ended the process, and the example of a cluster printed a line for each attempt to connect: nine a second.

const root = fileURLToPath(new URL('..', import.meta.url))
const documents = [
  'README.md',
  'packages/express/README.md',
  'packages/redis/README.md',
  ...['failure', 'production', 'scale', 'stores', 'troubleshooting'].map((name) => `docs/guides/${name}.md`),
  'docs/errors/err-spillway-option.md',
  'docs/migration/upstash-ratelimit.md',
]
const ofDocuments = documents.flatMap((path) => samplesOfMarkdown(path, readFileSync(join(root, path), 'utf8')))
const example = (name: string, code: string): Sample => ({
  document: `examples/${name}`,
  line: 1,
  code: `import { Cluster, Redis } from 'ioredis'\n${code}`,
  prelude: undefined,
})
const samples = [
  ...ofDocuments.filter(({ code, prelude }) => /from '(ioredis|redis|@valkey.*)'/.test(code) || prelude === 'redis'),
  example(
    'redis-cluster',
    "import { build } from '../../../examples/redis-cluster/main.ts'\nbuild(new Map(), [{ host: '127.0.0.1', port: 6379 }]).app.listen(3000)",
  ),
  example(
    'shared-quota',
    "import { apiOf } from '../../../examples/shared-quota/main.ts'\napiOf(new Redis(), 1_000).app.listen(3000)",
  ),
]

/** Runs all samples in one process, with Redis at a port. */
function run(port: number): { readonly child: ChildProcess; readonly printed: () => readonly string[] } {
  const cache = join(root, 'test/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'down-'))
  const files = samples.map((sample, i) => {
    const file = join(folder, `sample-${i}.ts`)
    writeFileSync(file, moduleOf(sample))
    return file
  })
  const child = fork(join(root, 'test/docs/stay.ts'), files, {
    cwd: root,
    execArgv: [...PROGRAM],
    env: { ...process.env, PORT: `${port}` },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let text = ''
  child.stderr?.on('data', (chunk) => (text = `${text}${chunk}`))
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  return { child, printed: () => text.split('\n').filter((line) => line !== '' && !line.startsWith('spillway: ')) }
}

/** Real time: clients connect again by timers of their own. */
const UNANSWERED_MS = 4_000

async function staysQuiet({ child, printed }: ReturnType<typeof run>): Promise<void> {
  const before = printed().length
  await new Promise((resolve) => setTimeout(resolve, UNANSWERED_MS))
  expect(printed().slice(before)).toEqual([])
  expect([child.exitCode, child.signalCode]).toEqual([null, null])
}

test('the list of samples has those of each client', () => {
  expect(samples.length).toBeGreaterThanOrEqual(12)
  expect(samples.filter(({ code }) => code.includes("from 'redis'")).length).toBeGreaterThanOrEqual(2)
})

test('samples that start while Redis is down print nothing but warnings, and go on', async () => {
  const ran = run(await freePort())
  await Promise.race([once(ran.child, 'message'), once(ran.child, 'exit')])
  await staysQuiet(ran)
  expect(ran.printed()).toEqual([])
})

test('samples whose Redis is killed print nothing but warnings, and go on', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const ran = run(server.port)
  await Promise.race([once(ran.child, 'message'), once(ran.child, 'exit')])
  await server.kill()
  await staysQuiet(ran)
})
