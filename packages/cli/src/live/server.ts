import { perHour, rateLimiter } from '@spillway/core'
import { count } from '../format.ts'
import { ASKING, placeOf, redisAt, urlOf } from './connect.ts'

/** The report on a Redis server: what an operator should know before using it for limits. */
export interface ServerReport {
  readonly redis: string
  /** Such as `Redis 7.0.15`; null if unknown. */
  readonly version: string | null
  /** 0 means no limit. */
  readonly maxmemory: number | null
  readonly maxmemoryPolicy: string | null
  /** The reason why no key can be limited there, if any. */
  readonly error?: string
  readonly traps: readonly { readonly code: string; readonly message: string }[]
}

/** Traps that do not fail `--strict`. */
export const NOTES: readonly string[] = ['evicts-soonest-full', 'fails-when-full', 'silent-connection']

/** Reads the properties of a Redis server, and limits a key there as a test. */
export async function serverAt(text: string, prefix: string | undefined): Promise<ServerReport> {
  const url = urlOf(text, ['redis'])
  const { redisStore } = await import('@spillway/redis')
  const { redis, ready, close } = await redisAt(url)
  await ready()
  try {
    // Not CONFIG, which managed servers forbid.
    const info = await redis.info().catch(() => '')
    const store = redisStore(redis, { denyCache: false, ...(prefix !== undefined && { prefix }) })
    const limiter = rateLimiter({
      name: 'spillway check',
      quota: perHour(1),
      store,
      ...ASKING,
    })
    const error = await limiter
      .consume('spillway check')
      .then(async () => void (await limiter.reset('spillway check')))
      .catch((failure: Error) => ((failure.cause as Error | undefined) ?? failure).message)
    const report = reportOf(info)
    const traps = [...report.traps, SILENT_CONNECTION]
    return { redis: placeOf(url), ...report, traps, ...(error !== undefined && { error }) }
  } finally {
    await close()
  }
}

/** Parses the reply to INFO. */
export function reportOf(info: string): Omit<ServerReport, 'redis' | 'error'> {
  const field = (name: string): string | null => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null
  const valkey = field('valkey_version')
  const compatible = field('redis_version')
  const maxmemory = field('maxmemory') === null ? null : Number(field('maxmemory'))
  const maxmemoryPolicy = field('maxmemory_policy')
  return {
    version: valkey !== null ? `Valkey ${valkey}` : compatible !== null ? `Redis ${compatible}` : null,
    maxmemory,
    maxmemoryPolicy,
    traps: [...versionTraps(compatible), ...evictionTraps(maxmemory, maxmemoryPolicy)],
  }
}

/** Of every server: the options are those of the app's client. */
const SILENT_CONNECTION = {
  code: 'silent-connection',
  message:
    'a client keeps a connection that goes silent, unless it has `socketTimeout` (ioredis and node-redis, 5.6 or newer), and node-redis a `reconnectStrategy` beside it: see docs/guides/failure.md.',
}

function versionTraps(version: string | null): ServerReport['traps'] {
  if (version === null || Number.parseInt(version, 10) >= 6) return []
  return [{ code: 'old-server', message: `it is Redis ${version}, and the store is tested with 6.0 and later.` }]
}

function evictionTraps(maxmemory: number | null, policy: string | null): ServerReport['traps'] {
  if (maxmemory === null || policy === null) {
    const message = 'its maxmemory and maxmemory-policy are unknown: allow INFO, or look them up.'
    return [{ code: 'eviction-unknown', message }]
  }
  if (maxmemory === 0) return []
  const full = `when its ${count(maxmemory)} bytes are full`
  if (policy === 'noeviction') {
    return [{ code: 'fails-when-full', message: `${full}, writes fail: onStoreError decides until keys expire.` }]
  }
  if (policy === 'volatile-ttl') {
    const message = `${full}, it evicts the key that expires soonest: one that used less of the same quota, but also one of a shorter quota. noeviction keeps every limit.`
    return [{ code: 'evicts-soonest-full', message }]
  }
  const message = `${full}, ${policy} evicts keys that are limited, and a flood of new keys resets a client's quota. Set maxmemory-policy to noeviction, on a server of its own.`
  return [{ code: 'evicts-limited-keys', message }]
}
