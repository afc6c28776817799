// Runs samples one after another, each until its event loop is empty, and reports each result to the parent process.

import cluster from 'node:cluster'
import { register } from 'node:module'
import { Server, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'

/** A message of the runner: a sample has started, or has ended, with an error if there was one. */
export interface Reported {
  readonly file: string
  readonly over: boolean
  readonly problem?: string
}

const files = process.argv.slice(2)
const timers = new Set<NodeJS.Timeout>()
const servers = new Set<Server>()
const sockets = new Set<Socket>()
let current: string | undefined
let settled = false
let problem: string | undefined

const tell = (reported: Reported): void => void process.send?.(reported)

function fail(error: unknown): void {
  problem ??= error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

// Samples for Workers import modules that exist only there. These are minimal replacements.
const moduleOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`
const workers = moduleOf(`
  export class DurableObject {}
  export const env = new Proxy({}, { get: () => ({ idFromName() {}, get() {} }) })`)
// An app has one copy of Nest; here each package may have its own.
const nest = new URL('../../packages/nestjs/package.json', import.meta.url).href
register(
  moduleOf(`export const resolve = (specifier, context, next) =>
    specifier === 'cloudflare:workers' ? { url: ${JSON.stringify(workers)}, shortCircuit: true } :
    specifier.startsWith('@nestjs/') ? next(specifier, { ...context, parentURL: ${JSON.stringify(nest)} }) :
    next(specifier, context)`),
)

// A worker of a sample would run this program, and all samples again.
cluster.fork = () => undefined as never

// A server does not keep a sample from ending. Samples say `listen(3000)`, a port that may be taken.
const { listen } = Server.prototype
Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  servers.add(this)
  const then = args.find((arg) => typeof arg === 'function') as (() => void) | undefined
  return listen.call(this, { port: 0, host: '127.0.0.1' }, then).unref()
} as typeof listen

// Samples connect to the default ports of databases. `PORTS` maps these to the ports of the test servers.
const ports = JSON.parse(process.env['PORTS'] ?? '{}') as Record<string, number>
const { connect } = Socket.prototype
Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [options] = (Array.isArray(args[0]) ? args[0] : args) as [{ port?: number } | undefined]
  const port = ports[String(options?.port)]
  if (options && port !== undefined) options.port = port
  sockets.add(settled ? this.unref() : this)
  return connect.apply(this, args as Parameters<typeof connect>)
} as typeof connect

// The default deadlines of stores assume warm servers and processes. Here all are cold, on a busy machine.
const DEADLINE_MS = 250
const patient = ([run, ms, ...args]: unknown[]): unknown[] =>
  typeof ms === 'number' && ms <= DEADLINE_MS ? [run, ms * 20, ...args] : [run, ms, ...args]

// Nor does a connection or a timer keep a sample from ending, once its last line has run.
for (const name of ['setTimeout', 'setInterval'] as const) {
  const start = globalThis[name] as (...args: unknown[]) => NodeJS.Timeout
  const tracked = (...args: unknown[]): NodeJS.Timeout => {
    const timer = start(...(name === 'setTimeout' ? patient(args) : args))
    timers.add(timer)
    return settled ? timer.unref() : timer
  }
  globalThis[name] = Object.assign(tracked, globalThis[name]) as never
}

async function begin(file: string): Promise<void> {
  current = file
  settled = false
  problem = undefined
  tell({ file, over: false })
  await import(pathToFileURL(file).href).catch(fail)
  settled = true
  for (const each of [...timers, ...sockets]) each.unref()
}

function finish(file: string): void {
  current = undefined
  if (!settled) fail('it awaits what never comes')
  if (process.exitCode) fail(`it exits with ${process.exitCode}`)
  process.exitCode = 0
  for (const timer of timers) clearTimeout(timer)
  for (const server of servers) server.close()
  timers.clear()
  servers.clear()
  sockets.clear()
  tell({ file, over: true, ...(problem === undefined ? {} : { problem }) })
}

process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
// Emitted whenever nothing is left to do, and again if a listener has found something.
process.on('beforeExit', () => {
  if (current !== undefined) finish(current)
  const next = files.shift()
  if (next !== undefined) void begin(next)
})
