// What the options page lists, in its order.

/** A table of the page: the members of a type. */
export interface Table {
  readonly heading: string
  readonly text: string
  readonly file: string
  readonly type: string
  /** The file and type of members that another table lists, unless they are of `CommonOptions`, too. */
  readonly besides?: string
  /** The page that explains a member further; `*` is for all others. */
  readonly guides?: Readonly<Record<string, string>>
}

/** The guides of the options about a store, which limiters and policies share. */
const STORE_GUIDES = {
  store: 'guides/stores.md',
  deadline: 'guides/failure.md',
  onStoreError: 'guides/failure.md',
  replicas: 'guides/failure.md',
  logger: 'guides/failure.md',
}

export const TABLES: readonly Table[] = [
  {
    heading: '`rateLimit`',
    text: 'The middleware of every framework takes these options, and either the options of one policy beside them or a list of `policies`.',
    file: 'core/src/features/options.ts',
    type: 'RateLimitOptions',
    besides: 'core/src/features/options.ts PolicyOptions',
    guides: {
      ...STORE_GUIDES,
      skip: 'guides/keys.md#select-requests',
      countPreflight: 'guides/cors.md#preflights',
      maxWait: 'guides/cost.md',
      onDenied: 'guides/headers.md',
      trustProxy: 'guides/keys.md#behind-a-proxy',
      ipv6Prefix: 'guides/keys.md',
      claims: 'guides/keys.md',
      refundIf: 'guides/cost.md',
      headers: 'guides/headers.md#other-forms',
      exposeHeaders: 'guides/cors.md',
      jitter: 'guides/headers.md',
    },
  },
  {
    heading: 'A policy',
    text: 'One quota, whom it counts and what a request costs.',
    file: 'core/src/features/options.ts',
    type: 'PolicyOptions',
    guides: {
      quota: 'guides/tiers.md',
      key: 'guides/keys.md',
      match: 'guides/keys.md#select-requests',
      mode: 'guides/keys.md',
      cost: 'guides/cost.md',
      defaultCost: 'guides/cost.md',
      maxCost: 'guides/cost.md',
      settle: 'guides/cost.md',
      countIf: 'guides/cost.md#count-failures-only',
      ...STORE_GUIDES,
      problem: 'guides/headers.md',
      onDenied: 'guides/headers.md',
      unit: 'guides/headers.md',
      partition: 'guides/headers.md',
    },
  },
  {
    heading: 'What `onDenied` returns',
    text: 'An object with these members, all optional; text, which is the body; or nothing, for the standard answer.',
    file: 'core/src/features/answers/denied.ts',
    type: 'DeniedAnswer',
  },
  {
    heading: '`rateLimiter`',
    text: 'The limiter without HTTP: one `quota`, or several `quotas` by name.',
    file: 'core/src/limiter/limiter-options.ts',
    type: 'RateLimiterOptions',
    guides: {
      ...STORE_GUIDES,
    },
  },
  { heading: '`reserve`', text: 'Besides the key.', file: 'core/src/limiter/reservation.ts', type: 'ReserveOptions' },
  { heading: '`wait`', text: 'Besides the key.', file: 'core/src/limiter/wait.ts', type: 'WaitOptions' },
  {
    heading: '`list`',
    text: 'The keys that have used the most of a policy.',
    file: 'core/src/limiter/list-types.ts',
    type: 'ListOptions',
    guides: { '*': 'guides/stores.md#inspect-and-list-keys', blocked: 'guides/brute-force.md#block-by-hand' },
  },
  {
    heading: 'Calls by key',
    text: '`peek`, `charge`, `block` and `unblock` of `rateLimit` take these options, and `reset` takes `policy`.',
    file: 'core/src/features/by-key/calls.ts',
    type: 'ByKeyOptions',
    guides: { '*': 'guides/keys.md#reset-peek-and-charge-by-key' },
  },
  {
    heading: '`limitStream`',
    text: 'Besides the source.',
    file: 'core/src/limiter/limit-stream.ts',
    type: 'LimitStreamOptions',
    guides: { '*': 'guides/cost.md#limit-a-stream' },
  },
  {
    heading: '`perSecond`, `perMinute`, `perHour`, `perDay`',
    text: 'Besides the limit.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'RateOptions',
    guides: { '*': 'algorithms.md#token-bucket' },
  },
  {
    heading: '`tokenBucket`',
    text: 'A GCRA or token bucket with every number of its own.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'TokenBucketOptions',
    guides: { '*': 'algorithms.md#token-bucket', refill: 'algorithms.md#interval-refill' },
  },
  {
    heading: '`fixedWindow`',
    text: 'A counter per window.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'FixedWindowOptions',
    guides: { '*': 'algorithms.md#fixed-window' },
  },
  {
    heading: '`calendarWindow`',
    text: 'A counter per month, week or day of a time zone.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'CalendarWindowOptions',
    guides: { '*': 'guides/billing.md' },
  },
  {
    heading: '`slidingWindow` and `slidingLog`',
    text: 'Two counters, or a log of every request.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'WindowOptions',
    guides: { '*': 'algorithms.md#sliding-window' },
  },
  {
    heading: '`leakyBucket`',
    text: 'A queue that drains evenly.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'LeakyBucketOptions',
    guides: { '*': 'algorithms.md#leaky-bucket' },
  },
  {
    heading: '`warmingUp`',
    text: 'A rate that rises while it is used.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'WarmingUpOptions',
    guides: { '*': 'algorithms.md#warm-up' },
  },
  {
    heading: '`penalty`',
    text: 'A quota that blocks a key when it is used up.',
    file: 'core/src/algorithms/quota-options.ts',
    type: 'PenaltyOptions',
    guides: { '*': 'algorithms.md#penalty' },
  },
  {
    heading: '`inFlight`',
    text: 'Besides the limit.',
    file: 'core/src/features/slots/in-flight.ts',
    type: 'InFlightOptions',
    guides: { '*': 'algorithms.md#in-flight' },
  },
  {
    heading: '`acquire`',
    text: 'Of a limiter of slots.',
    file: 'core/src/limiter/slot-holder.ts',
    type: 'AcquireOptions',
    guides: { '*': 'algorithms.md#in-flight' },
  },
  {
    heading: '`divideQuota`',
    text: 'Besides the quota.',
    file: 'core/src/algorithms/divide-quota.ts',
    type: 'DivideQuotaOptions',
  },
  {
    heading: '`memoryStore`',
    text: 'In this process.',
    file: 'memory/src/store.ts',
    type: 'MemoryStoreOptions',
    guides: { maxKeys: 'guides/stores.md#bound-the-memory' },
  },
  {
    heading: '`redisStore`',
    text: 'Besides the client.',
    file: 'redis/src/options.ts',
    type: 'RedisStoreOptions',
    guides: { '*': '../packages/redis/README.md', lease: 'guides/stores.md#leases' },
  },
  {
    heading: '`postgresStore`',
    text: 'Besides the pool. `migrate` and `migrationSql` take `table`, `schema` and `durability`.',
    file: 'postgres/src/store.ts',
    type: 'PostgresStoreOptions',
    guides: { '*': '../packages/postgres/README.md' },
  },
  {
    heading: '`sweep`',
    text: 'Deletes expired states from PostgreSQL.',
    file: 'postgres/src/sweep.ts',
    type: 'SweepOptions',
  },
  {
    heading: '`durableObjectStore`',
    text: 'Besides the namespace.',
    file: 'cloudflare/src/store.ts',
    type: 'DurableObjectStoreOptions',
    guides: { '*': '../packages/cloudflare/README.md' },
  },
  {
    heading: '`withDenyCache`',
    text: 'Besides the store.',
    file: 'core/src/wrappers/deny-cache.ts',
    type: 'DenyCacheOptions',
    guides: { '*': 'guides/stores.md#fewer-calls' },
  },
  {
    heading: '`withLeases`',
    text: 'Besides the store.',
    file: 'core/src/wrappers/leases.ts',
    type: 'LeaseOptions',
    guides: { '*': 'guides/stores.md#leases' },
  },
  {
    heading: '`withSharedQuota`',
    text: 'Besides the store.',
    file: 'core/src/wrappers/shared-quota.ts',
    type: 'SharedQuotaOptions',
    guides: { '*': 'guides/scale.md#shared-quotas' },
  },
  {
    heading: '`sharedQuotaBounds`',
    text: 'Besides the quota.',
    file: 'core/src/wrappers/shared-quota.ts',
    type: 'SharedQuotaBoundsOptions',
    guides: { '*': 'guides/scale.md#shared-quotas' },
  },
  {
    heading: '`cached`',
    text: 'Plans from a database, besides the lookup.',
    file: 'plans/src/options.ts',
    type: 'CachedOptions',
    guides: { '*': '../packages/plans/README.md' },
  },
  {
    heading: '`telemetry`',
    text: 'Metrics and spans for OpenTelemetry.',
    file: 'opentelemetry/src/index.ts',
    type: 'TelemetryOptions',
    guides: { '*': '../packages/opentelemetry/README.md' },
  },
  {
    heading: '`adminHandler`',
    text: 'The admin page and its JSON API.',
    file: 'admin/src/options.ts',
    type: 'AdminOptions',
    guides: { '*': '../packages/admin/README.md' },
  },
  {
    heading: 'A decision',
    text: 'What `consume`, `peek` and their siblings return, and what handlers find on the request.',
    file: 'core/src/algorithms/decision.ts',
    type: 'Decision',
  },
]
