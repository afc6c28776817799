import { type BucketQuota, type Quota, tokenBucket } from '@spillway/core'
import type { Random } from './runtime/random.ts'

/** What a run consists of, besides its acts and faults. */
export interface Setting {
  readonly processes: number
  /** How much faster than time the clocks of each process go. */
  readonly drifts: readonly number[]
  /** Stores on the same client in each process. */
  readonly handles: number
  readonly servers: number
  readonly keys: number
  readonly quota: Quota
  /** A rate that is taken all or none with slots, of which no unit is back within a run. */
  readonly rate?: BucketQuota
  /** Whether the quota refills so slowly that a run ends before a unit is back: then counts are compared exactly. */
  readonly isSlow: boolean
  readonly denyCache: '1s' | '5s' | false
  readonly lease: number | undefined
  readonly coalesce: boolean
  readonly onStoreError: 'local' | 'allow' | 'deny' | 'throw'
  readonly replicas: number
  readonly deadlineMs: number
  readonly connections: number
  readonly resends: boolean
  /** The shortest time of a message, and the mean of what is added at random, in microseconds. */
  readonly baseMicros: number
  readonly jitterMicros: number
  /** How long acts and faults begin, in microseconds. */
  readonly span: number
  /** The PostgreSQL servers of a run; without, all servers are Redis. */
  readonly postgres?: PostgresSetting
}

/** Servers that are PostgreSQL, and the clients to them. */
export interface PostgresSetting {
  /** Their indexes: the others are Redis. */
  readonly servers: readonly number[]
  /** The connections of a process to one of them, at most. */
  readonly pool: number
  /** The deadline of the stores, in milliseconds. */
  readonly deadlineMs: number
}

const quotas: readonly ((random: Random) => BucketQuota)[] = [
  (random) => tokenBucket({ limit: random.between(3, 40), per: '1s' }),
  (random) => tokenBucket({ limit: random.between(20, 1_000), per: '1s', burst: random.between(5, 60) }),
  (random) => tokenBucket({ limit: random.between(3, 50), per: '10s' }),
  (random) => tokenBucket({ limit: random.between(5, 40), per: '1s', refill: '1s' }),
]

/** A quota of which no unit is back within a run. */
export const slowQuota = (random: Random): BucketQuota => tokenBucket({ limit: random.between(3, 30), per: '1000d' })

export function drawSetting(random: Random): Setting {
  const isSlow = random.chance(0.5)
  const processes = random.between(1, 4)
  return {
    processes,
    drifts: Array.from({ length: processes }, () => random.pick([0, 0, 0.0001, -0.0001, 0.01])),
    handles: random.chance(0.3) ? 2 : 1,
    servers: random.chance(0.3) ? 2 : 1,
    keys: random.between(1, 4),
    quota: isSlow ? slowQuota(random) : random.pick(quotas)(random),
    isSlow,
    denyCache: random.pick(['1s', '1s', '5s', false]),
    lease: random.chance(0.35) ? random.between(2, 40) : undefined,
    coalesce: random.chance(0.9),
    onStoreError: random.pick(['local', 'local', 'local', 'allow', 'deny', 'throw']),
    replicas: random.chance(0.3) ? processes : 1,
    deadlineMs: random.pick([50, 50, 20, 200]),
    connections: random.chance(0.3) ? 3 : 1,
    resends: random.chance(0.5),
    baseMicros: random.pick([100, 500, 3_000]),
    jitterMicros: random.pick([0, 200, 200, 5_000]),
    span: random.pick([2_000_000, 5_000_000, 20_000_000]),
  }
}
