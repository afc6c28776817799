import { execFile } from 'node:child_process'
import { createServer, Server } from 'node:http'
import { type AddressInfo, Server as TcpServer } from 'node:net'
import { join } from 'node:path'
import { format, promisify } from 'node:util'
import { getRequestListener } from '@hono/node-server'
import { Cluster, Redis } from 'ioredis'
import { vi } from 'vitest'
import { ensureCurl } from '../../scripts/ensure.mjs'
import { startPostgres } from '../services/postgres.ts'
import { startRedis } from '../services/redis.ts'
import { startRedisCluster } from '../services/redis-cluster.ts'
import { startWorker } from '../services/workerd.ts'

/** A program that runs, and how to end it. Its ports are free ones; commands still name those that it asked for. */
export interface Program {
  /** What it has printed. */
  output(): string
  /** The port that listens in the place of another. */
  portFor(port: number): number | undefined
  stop(): Promise<void>
}

/** The servers that programs look for in their environment. */
const SERVICES: Readonly<Record<string, () => Promise<{ env: Record<string, string>; stop(): Promise<void> }>>> = {
  PGHOST: async () => {
    const server = await startPostgres()
    const { host, user, database } = server.config
    return { env: { PGHOST: host, PGUSER: user, PGDATABASE: database }, stop: server.stop }
  },
  REDIS_URL: async () => {
    const server = await startRedis()
    return { env: { REDIS_URL: `redis://127.0.0.1:${server.port}` }, stop: server.stop }
  },
  REDIS_NODE: async () => {
    const cluster = await startRedisCluster()
    return { env: { REDIS_NODE: `127.0.0.1:${cluster.nodes[0]?.port}` }, stop: cluster.stop }
  },
}

/** The program of a command such as `PGHOST=localhost npx tsx main.ts URL`, in a folder. */
function partsOf(line: string): { readonly env: readonly string[]; readonly file: string; readonly args: string[] } {
  const words = line.split(' ')
  const file = words.find((word) => word.endsWith('.ts')) ?? 'main.ts'
  return {
    env: words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.slice(0, word.indexOf('='))),
    file,
    args: words.slice(words.indexOf(file) + 1).filter((word) => words.includes(file) && word !== ''),
  }
}

/** Starts the program of a command, in this process: it is loaded as if Node had been started with it. */
export async function start(folder: string, line: string): Promise<Program> {
  if (line === 'npx wrangler dev') return startedWorker(join(folder, 'main.ts'))
  const { env, file, args } = partsOf(line)
  const services = await Promise.all(env.flatMap((name) => SERVICES[name]?.() ?? []))
  for (const [name, value] of services.flatMap((service) => Object.entries(service.env))) vi.stubEnv(name, value)
  const ports = new Map<number, number>()
  const servers = new Set<TcpServer>()
  const listening = spyOnListening(ports, servers)
  const printed: string[] = []
  vi.spyOn(console, 'log').mockImplementation((...values) => void printed.push(format(...values)))
  const clients = [vi.spyOn(Redis.prototype, 'connect'), vi.spyOn(Cluster.prototype, 'connect')]
  const receiver = args[0]?.startsWith('http') ? await receiverFor(args[0], servers) : undefined
  const path = join(folder, file)
  const { argv } = process
  process.argv = [argv[0] as string, path, ...(receiver ? [receiver] : [])]
  try {
    const { default: app } = (await import(/* @vite-ignore */ path)) as { default?: { fetch?: Handler } }
    // Bun and Deno serve what a file exports.
    if (servers.size === 0 && app?.fetch) createServer(getRequestListener(app.fetch)).listen(3000)
  } finally {
    process.argv = argv
  }
  await Promise.all(listening)
  return {
    output: () => printed.join('\n'),
    portFor: (port) => ports.get(port),
    async stop() {
      for (const server of servers) {
        server.close()
        if (server instanceof Server) server.closeAllConnections()
      }
      for (const client of clients.flatMap(({ mock }) => mock.contexts as Disconnectable[])) client.disconnect()
      vi.restoreAllMocks()
      vi.unstubAllEnvs()
      await Promise.all(services.map(({ stop }) => stop()))
    },
  }
}

interface Disconnectable {
  disconnect(): void
}

type Handler = Parameters<typeof getRequestListener>[0]

/** Lets servers listen on free ports of the loopback interface, and notes which they asked for. */
function spyOnListening(ports: Map<number, number>, servers: Set<TcpServer>): Promise<void>[] {
  const { listen } = TcpServer.prototype
  const listening: Promise<void>[] = []
  vi.spyOn(TcpServer.prototype, 'listen').mockImplementation(function (this: TcpServer, ...args: unknown[]) {
    const [first] = args
    const wanted = Number(typeof first === 'object' && first !== null ? (first as { port?: number }).port : first)
    const then = args.find((each) => typeof each === 'function') as (() => void) | undefined
    servers.add(this)
    listening.push(
      new Promise((resolve) => {
        this.once('listening', () => {
          ports.set(wanted, (this.address() as AddressInfo).port)
          resolve()
        })
      }),
    )
    return listen.call(this, { port: 0, host: '127.0.0.1' }, then)
  } as typeof listen)
  return listening
}

/** A receiver of calls, which accepts all, and its URL. */
async function receiverFor(url: string, servers: Set<TcpServer>): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response.end()
  })
  servers.add(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(new URL(url), { port: (server.address() as AddressInfo).port }).href
}

async function startedWorker(file: string): Promise<Program> {
  const worker = await startWorker(file, { durableObjects: { RATE_LIMITS: 'RateLimits' } })
  return { output: () => '', portFor: () => Number(new URL(worker.url).port), stop: () => worker.stop() }
}

/** Runs a shell command beside a program, and returns what it prints. */
export async function run(program: Program, command: string): Promise<string> {
  ensureCurl()
  const line = command.replace(/(?<=localhost:)\d+/g, (port) => String(program.portFor(Number(port)) ?? port))
  const { stdout } = await promisify(execFile)('sh', ['-c', line.replaceAll('localhost:', '127.0.0.1:')])
  return stdout.replaceAll('\r', '')
}
