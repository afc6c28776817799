import { QuotaError } from '@spillway/core'
import { checkOptions, formatThrown, formatValue, givenOptions, hasMethod, processState } from '@spillway/core/internal'
import { type MemoryStore, type MemoryStoreOptions, memoryStore } from '../store.ts'
import { dataOf, messageOf, type Reply, type Request } from './messages.ts'
import { checkName } from './name.ts'
import { listenToPm2, type Pm2 } from './pm2.ts'
import { type Child, isUnderPm2, thisCluster, UNDER_PM2 } from './runtime.ts'
import { serving } from './serve.ts'

/** Options of `primaryStore`. */
export interface PrimaryStoreOptions extends Pick<MemoryStoreOptions, 'maxKeys' | 'clock'> {
  /**
   * The name of the store, if a process has several: that of `workerStore({ name })`.
   * @default `'default'`
   */
  readonly name?: string
  /** The module `pm2`, connected: `pm2.connect()`. It brings the calls of all processes that PM2 has started. */
  readonly pm2?: Pm2
}

/** The in-memory store that all workers share. In the primary itself, it is synchronous. */
export interface PrimaryStore extends MemoryStore {
  /** Answers the calls of a process that `fork` of `node:child_process` has started. Those of `node:cluster` are answered anyway. */
  serve(child: Child): void
  /** Stops answering. Calls of workers then fail when their deadline passes. */
  close(): void
}

type Serve = (request: Request, reply: (reply: Reply) => void) => void

/** The stores of this process, by name, and the processes whose messages are read. */
interface Hub {
  readonly stores: Map<string, Serve>
  readonly children: WeakSet<object>
  listens: boolean
}

const hub = (): Hub =>
  processState('primary stores', () => ({ stores: new Map(), children: new WeakSet(), listens: false }))

/**
 * Returns an in-memory store that the workers of this process share: those of `node:cluster`, and others that it serves. A worker
 * reaches it by `workerStore()`. It is as exact as the in-memory store, and ends with this process.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if an option is invalid, or this process is a worker
 */
export function primaryStore(options: PrimaryStoreOptions = {}): PrimaryStore {
  checkOptions('primaryStore', options, ['name', 'maxKeys', 'clock', 'pm2'])
  const name = checkName(options.name)
  const { pm2 } = options
  if (pm2 !== undefined && !(hasMethod(pm2, 'launchBus') && hasMethod(pm2, 'sendDataToProcessId'))) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `pm2 must be the module pm2, with launchBus and sendDataToProcessId; got ${formatValue(pm2)}. Write import pm2 from 'pm2'.`,
    )
  }
  const cluster = thisCluster()
  if (pm2 === undefined && cluster?.isWorker) throw inWorker()
  const { stores, children } = hub()
  if (stores.has(name)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `this process has a primaryStore named ${formatValue(name)} already. Use that one, or give this one another name: primaryStore({ name: 'other' }) and workerStore({ name: 'other' }).`,
    )
  }
  const store = memoryStore({ ...givenOptions(options, ['maxKeys', 'clock']), perProcess: true })
  stores.set(name, serving(store))
  listen(pm2)
  const added = {
    serve(child: Child) {
      const isOfCluster = Object.values(cluster?.workers ?? {}).some((worker) => worker?.process === child)
      if (isOfCluster || children.has(child)) return
      children.add(child)
      child.on('message', (message) => receive(message, (reply) => child.send?.(reply as never, ...WITHOUT_HANDLE)))
    },
    close() {
      stores.delete(name)
    },
  }
  // Its counters are getters, which a copy would read.
  return Object.defineProperties(added, Object.getOwnPropertyDescriptors(store)) as typeof added & MemoryStore
}

const ignored = (): void => {}
/** A reply to a process that has ended fails: it is not needed. */
const WITHOUT_HANDLE = [undefined, undefined, ignored] as const

function listen(pm2: Pm2 | undefined): void {
  const known = hub()
  if (pm2 !== undefined && !known.children.has(pm2)) {
    known.children.add(pm2)
    listenToPm2(pm2, receive)
  }
  if (known.listens) return
  known.listens = true
  thisCluster()?.on('message', (worker, message) => receive(message, (reply) => worker.send(reply, ...WITHOUT_HANDLE)))
}

/** Answers a message of a worker, if it is for one of the stores. Nothing that it has in it ends this process. */
function receive(message: unknown, send: (message: unknown) => void): void {
  const request = dataOf<Request>(message)
  if (!Array.isArray(request?.calls)) return
  const reply = (answer: Reply): void => {
    try {
      send(messageOf(answer))
    } catch {}
  }
  const { name, id, calls } = request
  const { stores } = hub()
  const fail = (error: string): void => reply({ name, id, answers: calls.map(() => ({ error })) })
  const serve = stores.get(name)
  if (serve === undefined) {
    const names = [...stores.keys()].map(formatValue).join(', ')
    fail(
      `the primary has no store named ${formatValue(name)}, but ${names || 'none'}: call primaryStore({ name }) there`,
    )
    return
  }
  try {
    serve(request, reply)
  } catch (error) {
    fail(formatThrown(error))
  }
}

const inWorker = (): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `primaryStore must be in the primary process, which forks the workers; this process is a worker. Write workerStore() here, and primaryStore() where cluster.isPrimary is true.${isUnderPm2() ? ` ${UNDER_PM2}` : ''}`,
  )
