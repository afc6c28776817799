import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { build } from 'esbuild'

const { default: program } = createRequire(import.meta.url)('workerd') as { default: string }

// Objects wait for the disk with each write: where the machine has a folder in memory, that is spared.
const IN_MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** A worker that runs in workerd, the runtime of Cloudflare Workers, on a free port of the loopback. */
export interface Worker {
  readonly url: string
  /** Ends it as a crash does, and starts it again with what its objects have stored. */
  restart(): Promise<void>
  /** Ends it, and removes what it has stored. */
  stop(): Promise<void>
}

/** What `startWorker` takes besides the file. */
export interface WorkerOptions {
  /** Classes of Durable Objects, by the names of their bindings. */
  readonly durableObjects?: Readonly<Record<string, string>>
}

/** Bundles the worker that a file exports, and runs it; answers once it takes connections. */
export async function startWorker(file: string, { durableObjects = {} }: WorkerOptions = {}): Promise<Worker> {
  const folder = mkdtempSync(join(IN_MEMORY, 'spillway-workerd-'))
  mkdirSync(join(folder, 'disk'))
  await bundle(file, join(folder, 'worker.js'))
  writeFileSync(join(folder, 'config.capnp'), configOf(folder, durableObjects))
  let running = await serve(folder)
  return {
    get url() {
      return `http://127.0.0.1:${running.port}`
    },
    async restart() {
      await running.kill()
      running = await serve(folder)
    },
    async stop() {
      await running.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Bundles a worker into one module, as those that deploy workers do. */
export async function bundle(entryPoint: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2023',
    conditions: ['workerd', 'worker'],
    external: ['node:*', 'cloudflare:*'],
  })
}

async function serve(folder: string): Promise<{ port: number; kill: () => Promise<void> }> {
  const stdio = ['ignore', 'pipe', 'pipe', 'pipe'] as const
  const server = spawn(program, ['serve', '--control-fd=3', 'config.capnp'], { cwd: folder, stdio: [...stdio] })
  const gone = new Promise<undefined>((resolve) => server.once('exit', () => resolve(undefined)))
  let said = ''
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (chunk) => (said = `${said}${chunk}`))
  const port = await Promise.race([portOf(server.stdio[3] as Readable), gone])
  if (port === undefined) throw new Error(`workerd did not start:\n${said}`)
  const kill = async (): Promise<void> => {
    server.kill('SIGKILL')
    await gone
  }
  return { port, kill }
}

/** The port from workerd's line of JSON, which it prints when it listens. */
function portOf(control: Readable): Promise<number> {
  return new Promise((resolve) => {
    let reported = ''
    control.on('data', (chunk: Buffer) => {
      reported += chunk.toString()
      const [, port] = /"event":"listen","socket":"http","port":(\d+)/.exec(reported) ?? []
      if (port !== undefined) resolve(Number(port))
    })
  })
}

/** How many times as many random cases there are: workerd shows a worker no variable of its own environment. */
const RUNS = `(name = "SPILLWAY_RUNS", text = "${process.env['SPILLWAY_RUNS'] ?? 1}")`

/** What configures workerd: one worker, whose objects keep what they store in a folder. */
function configOf(folder: string, durableObjects: Readonly<Record<string, string>>): string {
  const classes = Object.values(durableObjects).map(
    (name) => `(className = "${name}", uniqueKey = "${name}", enableSql = true)`,
  )
  const bindings = Object.entries(durableObjects).map(
    ([name, className]) => `(name = "${name}", durableObjectNamespace = "${className}")`,
  )
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "disk", disk = (path = "${folder}/disk", writable = true))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["nodejs_compat"],
  durableObjectNamespaces = [${classes.join(', ')}],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [${[...bindings, RUNS].join(', ')}],
);
`
}
