import { type Quota, type RateLimiter, type RateLimiterOptions, rateLimiter, type Store } from '@spillway/core'
import type { Effect } from './batches.ts'
import { type Client, clientOf } from './clients.ts'
import { type HttpLimit, httpLimit, httpPolicy } from './http-limit.ts'
import { Ledger } from './ledger.ts'
import type { Link, LostEffect } from './network.ts'
import { PostgresServer } from './postgres/server.ts'
import { RedisServer } from './redis/server.ts'
import { Host } from './runtime/host.ts'
import { separateStates } from './runtime/own-states.ts'
import { World } from './runtime/world.ts'
import type { Fault, Scenario } from './scenario.ts'
import type { Setting } from './setting.ts'
import { SLOTS } from './slots/holdings.ts'
import type { StateServer } from './state-server.ts'

separateStates()

/** A limiter of a process, and its store. */
export interface Handle {
  readonly limiter: RateLimiter
  readonly store: Store
  release(): Promise<void>
  /** The middleware, made when it is first used. */
  http(): HttpLimit
  /** The quota of the middleware. */
  readonly httpQuota: Quota
  replaceHttpQuota(quota: Quota): void
}

/** A process: its clients, one per server, and its handles, in the order of the servers. */
export interface Process {
  readonly host: Host
  readonly clients: readonly Client[]
  readonly handles: readonly (readonly Handle[])[]
}

/** The parts of a run, for acts and faults. `target` numbers draw one of several. */
export class Simulation {
  readonly world: World
  readonly setting: Setting
  readonly faults: readonly Fault[]
  readonly ledger: Ledger
  readonly servers: readonly StateServer[]
  readonly processes: Process[]
  readonly warnings: string[] = []
  /** When all acts and faults have ended. */
  settledAt = 0
  readonly #links: readonly (readonly Link[])[]

  constructor({ seed, setting, faults }: Scenario) {
    this.world = new World(seed)
    this.setting = setting
    this.faults = faults
    this.ledger = new Ledger(this.world)
    const { processes, servers, baseMicros, jitterMicros } = setting
    const indexes = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i)
    this.servers = indexes(servers).map((i) =>
      setting.postgres?.servers.includes(i)
        ? new PostgresServer(this.world, `postgres ${i}`, this.ledger)
        : new RedisServer(this.world, `redis ${i}`, this.ledger),
    )
    this.#links = indexes(processes).map(() =>
      indexes(servers).map(() => ({ baseMicros, jitterMicros, heldUntil: 0, repliesToLose: 0 })),
    )
    this.processes = indexes(processes).map((i) => this.#start(i))
  }

  processOf = (target: number): Process => this.processes[target % this.processes.length] as Process
  hostOf = (target: number): Host => this.processOf(target).host
  serverOf = (target: number): StateServer => this.servers[target % this.servers.length] as StateServer
  linkOf = (target: number): Link => {
    const links = this.#links.flat()
    return links[target % links.length] as Link
  }
  clientOf = (target: number): Client | undefined => {
    const clients = this.processes.flatMap(({ clients }) => clients)
    return clients[target % clients.length]
  }
  cutAll = (server: StateServer): void => {
    for (const { clients } of this.processes) clients[this.servers.indexOf(server)]?.cut()
  }
  stepServer = (server: StateServer, micros: number): void => {
    server.stepClock(micros)
    this.ledger.steps.push({ at: this.world.now, of: server, micros })
  }
  stepWall = (target: number, micros: number): void => {
    const host = this.hostOf(target)
    host.stepWall(micros)
    this.ledger.steps.push({ at: this.world.now, of: host, micros })
  }
  /** Replaces the quota of the middleware of a process, as its configuration does. */
  replaceQuota = (target: number, quota: Quota): void => {
    const { host, handles } = this.processOf(target)
    host.receive(() => {
      for (const handle of handles.flat()) handle.replaceHttpQuota(quota)
    })
  }
  /** Kills a process; another one takes its place later. */
  restartProcess = (target: number, micros: number): void => {
    const index = target % this.processes.length
    const { host } = this.processOf(index)
    host.kill()
    this.ledger.killed.set(host, this.world.now)
    this.world.after(micros, () => {
      if (!this.hostOf(index).isAlive) this.processes[index] = this.#start(index)
    })
  }

  /** Ends what is wrong with the network. */
  calm(): void {
    for (const link of this.#links.flat()) Object.assign(link, { baseMicros: 100, jitterMicros: 100, repliesToLose: 0 })
  }

  #start(index: number): Process {
    const { setting, world, ledger } = this
    const { drifts, onStoreError, replicas, deadlineMs, quota, rate } = setting
    const host = new Host(world, `process ${index}`, { drift: drifts[index] ?? 0 })
    const links = this.#links[index] as readonly Link[]
    const clients = this.servers.map((server, i) => {
      const random = world.random.fork()
      const onSent = (intents: readonly Effect[]): void =>
        void ledger.sent.push({ at: world.now, host, server, intents })
      const onUnopened = (): void => void ledger.unopened.push({ at: world.now, host, server })
      const onLost = (effect: LostEffect): void => void ledger.lostEffects.push(effect)
      return clientOf(server, { world, host, link: links[i] as Link, random, onSent, onUnopened, onLost }, setting)
    })
    const logger = { warn: (message: string): void => void this.warnings.push(`${host.name}: ${message}`) }
    const options = { onStoreError, replicas, deadline: `${deadlineMs}ms`, logger } as const
    const counted = rate === undefined ? { quota } : { quotas: { rate, [SLOTS]: quota } }
    const storeOf = (client: Client, server: StateServer): Store =>
      quota.kernel === 'slots' ? ledger.holdings.observed(client.store(), host, server) : client.store()
    const handles = clients.map((client, i) =>
      Array.from({ length: setting.handles }, () => {
        const store = storeOf(client, this.servers[i] as StateServer)
        const limiter = rateLimiter({ ...options, ...counted, store } as RateLimiterOptions)
        return handleOf(limiter, quota, store, options)
      }),
    )
    return { host, clients, handles }
  }
}

function handleOf(limiter: RateLimiter, first: Quota, store: Store, options: object): Handle {
  const release = 'release' in store ? (store as { release(): Promise<void> }).release : async () => {}
  let quota = first
  let limit: HttpLimit | undefined
  return {
    store,
    limiter,
    release,
    http() {
      limit ??= httpLimit(quota, { ...options, store })
      return limit
    },
    get httpQuota() {
      return quota
    },
    replaceHttpQuota(other) {
      quota = other
      limit?.replace([httpPolicy(other)])
    },
  }
}
