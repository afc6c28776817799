import {
  type Deadline,
  type ListedState,
  type Micros,
  QuotaError,
  type Store,
  type Take,
  type Taken,
} from '@spillway/core'
import { checkOptions, printableScope, REMOTE_LOG_LIMIT, sentStep, withRemoteDefaults } from '@spillway/core/internal'
import { type Channel, channelOf } from './channel.ts'
import type { SentOp } from './messages.ts'
import { checkName } from './name.ts'
import { thisCluster, thisProcess } from './runtime.ts'

/** Options of `workerStore`. */
export interface WorkerStoreOptions {
  /**
   * The name of the store, if the primary has several: that of `primaryStore({ name })`.
   * @default `'default'`
   */
  readonly name?: string
}

type Batches = readonly (readonly Take[])[]

/**
 * Returns a remote store in the primary process: the store of `primaryStore()`, which all workers share. It is exact, and sends
 * the checks of one event-loop tick in one message.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if this process has no channel to a primary, or an option is invalid
 */
export function workerStore(options: WorkerStoreOptions = {}): Store {
  checkOptions('workerStore', options, ['name'])
  const name = checkName(options.name)
  if (typeof thisProcess().send !== 'function') throw withoutPrimary()
  const channel = channelOf(name)
  const takeEach = async (batches: Batches, at?: Micros, deadline?: Deadline): Promise<readonly (readonly Taken[])[]> =>
    (await sendTakes(channel, batches, at, deadline)) as readonly (readonly Taken[])[]
  return withRemoteDefaults<Store>({
    maxLogLimit: REMOTE_LOG_LIMIT,
    scope: printableScope('primary process', channel, name),
    take: async (ops, at, deadline) => (ops.length === 0 ? [] : ((await takeEach([ops], at, deadline))[0] ?? [])),
    takeEach,
    delete: (keys, deadline) =>
      channel.call(['delete', keys.map(({ policy, key }) => [policy, key] as const)], [], deadline) as Promise<number>,
    deleteAll: (policies) => channel.call(['deleteAll', policies], []) as Promise<number>,
    async *list(policy, step) {
      const id = `${thisProcess().pid} ${lists++}`
      for (;;) {
        const chunk = await channel.call(['list', policy, 0, id], [sentStep(step)])
        if (chunk === null) return
        yield chunk as readonly ListedState[]
      }
    },
  })
}

let lists = 0

function sendTakes(channel: Channel, batches: Batches, at?: Micros, deadline?: Deadline): Promise<unknown> {
  let steps = 0
  const ops = batches.map((batch) => batch.map(({ policy, key }): SentOp => [policy, key, steps++]))
  const sent = batches.flatMap((batch) => batch.map(({ step }) => sentStep(step, at)))
  return channel.call(['takeEach', ops, at ?? null], sent, deadline)
}

function withoutPrimary(): QuotaError {
  const isPrimary = Object.keys(thisCluster()?.workers ?? {}).length > 0
  const what = isPrimary
    ? 'this process is the primary: use the store that primaryStore() returns here'
    : 'this process has none. Start it by cluster.fork(), by fork() of node:child_process, or by PM2, and call primaryStore() in the process that forks; or use memoryStore() in a single process'
  return new QuotaError('ERR_SPILLWAY_OPTION', `workerStore needs a channel to a primary process; ${what}.`)
}
