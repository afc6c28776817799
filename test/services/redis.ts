import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureRedis } from '../../scripts/ensure.mjs'

/** A Redis or Valkey server of our own, on a free port of the loopback, with its files in a temporary folder. */
export interface Redis {
  readonly port: number
  readonly pid: number
  /** Where the server keeps its files, and a test may put some. */
  readonly folder: string
  readonly alive: boolean
  /** Sends it a signal: `SIGSTOP` freezes it, `SIGCONT` goes on. */
  signal(signal: NodeJS.Signals): void
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>
  /** Restarts it on the same port with its saved data. Default: nothing is saved. */
  start(): Promise<void>
  /** Ends it, and removes its files. */
  stop(): Promise<void>
}

export interface RedisOptions {
  /** The server program. Default: the installed Redis or Valkey. */
  readonly program?: string
  /** Settings as on the command line: `{ 'cluster-enabled': 'yes', replicaof: ['127.0.0.1', '6379'] }`. */
  readonly settings?: Readonly<Record<string, string | number | readonly string[]>>
  /** What is put into its folder before it starts. */
  readonly files?: Readonly<Record<string, string>>
  /** Runs as a Sentinel, which writes into the file that it is configured by. */
  readonly sentinel?: string
}

/** Starts a server, and answers once it takes connections. */
export async function startRedis(options: RedisOptions = {}): Promise<Redis> {
  const { program = ensureRedis(), settings = {}, files = {}, sentinel } = options
  const folder = mkdtempSync(join(tmpdir(), 'spillway-redis-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const port = await freePort(settings['cluster-enabled'] === 'yes' ? NODES : SERVERS)
  const where = { port, bind: '127.0.0.1', dir: folder }
  const all = sentinel ? where : { ...where, save: '', appendonly: 'no', ...settings }
  const flags = Object.entries(all).flatMap(([name, value]) => [`--${name}`, ...[value].flat().map(String)])
  let server: ChildProcess
  const start = async (): Promise<void> => {
    server = spawn(program, [...(sentinel ? [sentinel, '--sentinel'] : []), ...flags], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    await ready(server)
  }
  const alive = (): boolean => server.exitCode === null && server.signalCode === null
  const kill = (): Promise<void> =>
    new Promise((resolve) => {
      if (!alive()) return resolve()
      server.once('exit', () => resolve())
      server.kill('SIGKILL')
    })
  await start()
  return {
    port,
    get pid() {
      return server.pid as number
    },
    get alive() {
      return alive()
    },
    folder,
    start,
    kill,
    signal: (signal) => void server.kill(signal),
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The major version of a server program: 7 of Redis 7.0.15. Valkey's begin at 7. */
export function majorVersion(program = ensureRedis()): number {
  return Number(/v=(\d+)\./.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[1])
}

/** The server says when it is ready; all that it says before is shown if it never is. */
function ready(server: ChildProcess): Promise<void> {
  let said = ''
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('close', () => reject(new Error(`Redis did not start:\n${said}`)))
    for (const stream of [server.stdout, server.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        if (said.length < 10_000) said += chunk.toString()
        if (/Ready to accept connections|Sentinel ID is/.test(said)) resolve()
      })
    }
  })
}

/**
 * Ports of servers, below those that systems give to servers that ask for any. A node of a cluster has a second port, 10,000
 * above its first: both are in ranges that no other server has.
 */
const SERVERS = { lowest: 23_000, count: 9_600 }
const NODES = { lowest: 10_000, count: 2_400 }

/** Each worker of Vitest has ports of its own, also while a server that a test restarts is down. */
const WORKERS = 8
const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS

const given = new Set<number>()

/** A free port that no other test gets. */
export async function freePort({ lowest, count } = SERVERS): Promise<number> {
  const own = count / WORKERS
  for (;;) {
    const port = lowest + worker * own + randomInt(own)
    if (given.has(port)) continue
    given.add(port)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
