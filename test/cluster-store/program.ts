import { type ChildProcess, fork } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { testStore } from '@spillway/conformance'
import { perMinute, rateLimiter } from '@spillway/memory'
import { primaryStore, workerStore } from '@spillway/memory/cluster'
import type { Line, Setting } from './setting.ts'

// A primary process or a worker of it, as the setting says. Both write lines to the same standard output.

const file = fileURLToPath(import.meta.url)
const argument = process.argv[2] ?? ''
const setting = JSON.parse(argument) as Setting
const say = (line: Line): boolean => process.stdout.write(`${JSON.stringify({ pid: process.pid, ...line })}\n`)
const isWorker = cluster.isWorker || process.argv[3] === 'child'

/** The fixed time of a store, so that nothing refills. */
const clock = (): number => 1e15

function startWorkers(): void {
  const { via, workers, names } = setting
  const stores = names.map((name) => primaryStore({ name, ...(setting.task !== 'suite' && { clock }) }))
  cluster.setupPrimary({
    exec: file,
    args: [argument],
    ...(setting.serialization && { serialization: setting.serialization }),
  })
  if (setting.task === 'misplaced') misplaced()
  const start = (): ChildProcess => {
    const child = via === 'fork' ? fork(file, [argument, 'child']) : cluster.fork().process
    if (via === 'fork') for (const store of stores) store.serve(child)
    child.on('message', (message) => {
      // The app's own messages: each of them gets an answer.
      if ((message as { app?: number }).app !== undefined) child.send(message as object)
      const { make } = message as { make?: string }
      if (make !== undefined) {
        primaryStore({ name: make })
        child.send({ made: make })
      }
    })
    child.once('exit', (code) => say({ exit: code }))
    if (setting.restarts) child.once('exit', start)
    return child
  }
  for (let i = 0; i < workers; i++) start()
  say({ primary: true })
}

/** Takes from one key, many at once, while the app sends messages of its own. */
async function race(): Promise<void> {
  let chats = 0
  process.on('message', (message) => {
    if ((message as { app?: number }).app !== undefined) chats++
  })
  const limiters = setting.names.map((name) =>
    rateLimiter({
      name: 'race',
      quota: perMinute(1_000),
      store: workerStore({ name }),
      deadline: '60s',
      onStoreError: 'throw',
    }),
  )
  const [count, at] = [500, 50]
  for (const [i, limiter] of limiters.entries()) {
    let admitted = 0
    for (let done = 0; done < count; done += at) {
      process.send?.({ app: done })
      const decisions = await Promise.all(Array.from({ length: at }, () => limiter.consume('hot')))
      admitted += decisions.filter(({ allowed }) => allowed).length
    }
    say({ admitted, store: i })
  }
  await limiters[0]?.consume('last')
  say({ chats })
}

/** Takes once for each SIGUSR2. */
function probe(): void {
  const store = workerStore()
  const limiter = rateLimiter({ quota: perMinute(10), store, deadline: '1s', onStoreError: 'throw' })
  process.on('SIGUSR2', () => {
    limiter.consume('hot').then(
      ({ allowed, remaining }) => say({ allowed, remaining }),
      (error: Error) => say({ error: error.message }),
    )
  })
  say({ ready: true })
  // Only the test ends it: nothing else is left to do if the primary has ended.
  setInterval(() => {}, 60_000)
}

/** More than the channel takes, while the primary is frozen. */
async function flood(): Promise<void> {
  const store = workerStore()
  const limiter = rateLimiter({ quota: perMinute(10), store, deadline: '1s', onStoreError: 'throw' })
  await rateLimiter({ name: 'first', quota: perMinute(10), store, deadline: '60s' }).consume('first')
  process.on('SIGUSR2', async () => {
    const tick = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))
    const calls: Promise<string>[] = []
    for (let i = 0; i < 400; i++) {
      const key = `${i}`.padEnd(50_000, 'x')
      calls.push(
        limiter.consume(key).then(
          () => 'ok',
          (error: Error) => error.message,
        ),
      )
      await tick()
    }
    const errors = new Set(await Promise.all(calls))
    say({ errors: [...errors] })
    say({ stored: await store.deleteAll?.(['default']) })
  })
  say({ ready: true })
}

/** Takes once, and then has nothing left to do. */
async function idle(): Promise<void> {
  const limiter = rateLimiter({ quota: perMinute(10), store: workerStore(), deadline: '60s' })
  const { allowed } = await limiter.consume('hot')
  say({ allowed })
}

/** Takes many times within a tick, and counts the messages. */
async function tick(): Promise<void> {
  const limiter = rateLimiter({ quota: perMinute(10), store: workerStore(), deadline: '60s' })
  await limiter.consume('first')
  let sent = 0
  const send = process.send as (...args: unknown[]) => boolean
  process.send = (...args: unknown[]) => {
    sent++
    return send.apply(process, args)
  }
  await Promise.all(Array.from({ length: 100 }, (_, i) => limiter.consume(`${i}`)))
  say({ sent })
}

/** Makes the store of another process. */
function misplaced(): void {
  try {
    if (isWorker) primaryStore()
    else workerStore()
  } catch (error) {
    say({ error: (error as Error).message })
  }
}

async function suite(): Promise<void> {
  const tests: (readonly [string, () => Promise<void>])[] = []
  let stores = 0
  const made = async () => {
    const name = `store ${stores++}`
    process.send?.({ make: name })
    for (;;) {
      const [message] = await once(process, 'message')
      if ((message as { made?: string }).made === name) return workerStore({ name })
    }
  }
  testStore((name, body) => tests.push([name, body]), made, { histories: 10 })
  const failed: string[] = []
  for (const [name, body] of tests) await body().catch((error: Error) => failed.push(`${name}: ${error.message}`))
  say({ passed: tests.length - failed.length, failed })
  process.exit()
}

if (!isWorker) startWorkers()
else await { race, probe, suite, flood, idle, misplaced, tick }[setting.task]()
