import { connect, createServer, type Socket } from 'node:net'

/**
 * What a proxy does to what passes: nothing; delays the server's answers by a second, or until the weather changes; or
 * breaks every connection.
 */
export type Weather = 'fair' | 'slow' | 'held' | 'reset'

/** A proxy between a client and a server, with injected faults. */
export interface TcpProxy {
  readonly port: number
  set(weather: Weather): void
  /** Passes nothing more of the connections that are open, and ends none, as a firewall that has forgotten them. */
  silence(): void
  stop(): Promise<void>
}

/** The delay of slow replies. */
const LATE_MS = 1_000

/** Starts a proxy before a server at a port of the loopback, or at a path. */
export async function startProxy(target: number | string): Promise<TcpProxy> {
  let weather: Weather = 'fair'
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  const timers = new Set<NodeJS.Timeout>()
  const flushes = new Set<() => void>()
  let silences: (() => void)[] = []
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((near) => {
    keep(near)
    clients.add(near)
    near.on('close', () => clients.delete(near))
    if (weather === 'reset') return void near.resetAndDestroy()
    const far = typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target)
    keep(far)
    near.pipe(far)
    // In order, as TCP has it: what comes in fair weather waits for what was held back before it.
    const held: Buffer[] = []
    let dueMs = 0
    far.on('data', (chunk) => {
      if (weather === 'fair' && held.length === 0) return void near.write(chunk)
      held.push(chunk)
      if (weather === 'held') return
      dueMs = Math.max(dueMs, performance.now() + (weather === 'slow' ? LATE_MS : 0))
      const timer = setTimeout(() => {
        timers.delete(timer)
        const next = held.shift()
        if (next !== undefined) near.write(next)
        endIfSent()
      }, dueMs - performance.now())
      timers.add(timer)
    })
    // In one packet, as a kernel may join what a server sends.
    const flush = (): void => {
      if (held.length > 0) near.write(Buffer.concat(held.splice(0)))
      endIfSent()
    }
    flushes.add(flush)
    near.on('close', () => flushes.delete(flush))
    near.on('close', () => far.destroy())
    silences.push(() => {
      near.unpipe(far).resume()
      far.removeAllListeners('data').resume()
      far.off('close', endIfSent)
    })
    // What the server has sent before comes first.
    const endIfSent = (): void => {
      if (far.closed && held.length === 0) near.end()
    }
    far.on('close', endIfSent)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    set(next) {
      if (weather === 'held') for (const flush of flushes) flush()
      weather = next
      if (weather === 'reset') for (const client of clients) client.resetAndDestroy()
    },
    silence() {
      for (const silence of silences) silence()
      silences = []
    },
    stop() {
      for (const timer of timers) clearTimeout(timer)
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
