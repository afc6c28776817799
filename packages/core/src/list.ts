import { asStoreError } from './breaker.ts'
import { checkWhole } from './bucket-quota.ts'
import { deadlineIn, whenExpired } from './deadline.ts'
import { decider } from './decide.ts'
import type { Decision } from './decision.ts'
import { formatValue, QuotaError, StoreError } from './errors.ts'
import { setLongTimeout } from './long-timeout.ts'
import { checkBoolean, checkOptions } from './options.ts'
import type { Policy } from './policy.ts'
import { isSync, type ListedState, type Store } from './store.ts'
import { type Duration, micros } from './time.ts'
import { stepFor } from './verbs.ts'

/** Options of `list`. */
export interface ListOptions {
  /**
   * The name of the policy.
   * @default the only policy of the limiter
   */
  readonly policy?: string
  /**
   * How many keys are returned at most, 1 to 1,000.
   * @default `20`
   */
  readonly limit?: number
  /**
   * Whether only keys are returned that would be denied one unit now.
   * @default `false`
   */
  readonly limited?: boolean
  /**
   * How many states are examined at most. Beyond it, the list is that of the states examined so far.
   * @default `100_000`
   */
  readonly scan?: number
  /**
   * How long states are examined at most.
   * @default `'1s'`
   */
  readonly timeout?: Duration
}

/** A key that has used units of a policy. */
export interface ListedKey {
  /** The key; or its digest, if `isDigest`. */
  readonly key: string
  /**
   * Whether the store keeps a digest of the key: it is hashed, or too long to be stored. Verbs such as `reset` take the key,
   * and not its digest.
   */
  readonly isDigest: boolean
  /** The decision about one unit, which was not consumed. */
  readonly decision: Decision
}

/** The keys that have used the most of a policy. */
export interface KeyList {
  /** The name of the policy. */
  readonly policy: string
  /** Those that have used the most units first; of equal ones, those with the longest wait. */
  readonly keys: readonly ListedKey[]
  /** How many states were examined. */
  readonly scanned: number
  /** Whether all states were examined. If not, `scan` or `timeout` was reached. */
  readonly isComplete: boolean
}

const LIST_OPTIONS = ['policy', 'limit', 'limited', 'scan', 'timeout']
/** The most keys that are returned: they are sorted in memory. */
const MOST_KEYS = 1_000

/** Lists the keys that have used the most of a policy, within bounds of count and time. */
export async function listKeys(policies: readonly Policy[], options: ListOptions): Promise<KeyList> {
  checkOptions('list', options, LIST_OPTIONS)
  const limit = checkWhole('list limit', options.limit ?? 20, 1)
  const scan = checkWhole('list scan', options.scan ?? 100_000, 1)
  const limited = checkBoolean('list limited', options.limited)
  const deadline = deadlineIn(micros(options.timeout ?? '1s', 'list timeout'))
  if (limit > MOST_KEYS) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `list limit must be at most ${MOST_KEYS}; got ${limit}.`)
  }
  const { name, quota, storeConfig } = policyNamed(policies, options.policy)
  const { store } = storeConfig
  const step = stepFor(quota, 'peek', 1)
  const decide = decider(name, quota, 1, step)
  const states = listOf(store).call(store, name, step)[Symbol.asyncIterator]()
  const top = new TopKeys(limit)
  const add = ({ key, isDigest, taken }: ListedState): void => {
    const decision = decide(taken)
    const isWanted = limited ? !decision.allowed : decision.remaining < decision.limit
    if (isWanted) top.add({ key, isDigest, decision })
  }
  let scanned = 0
  let isComplete = false
  while (scanned < scan) {
    const next = await before(deadline, states.next())
    if (next === undefined && scanned === 0) {
      throw new StoreError('The store listed no states in time.', undefined, { reason: 'timeout' })
    }
    isComplete = next?.done === true
    if (next === undefined || isComplete) break
    scanned += next.value.length
    next.value.forEach(add)
    // An in-memory store never waits by itself, and other work must not wait for the whole list.
    if (isSync(store)) await new Promise<void>((resolve) => setLongTimeout(0, resolve))
  }
  if (!isComplete) void Promise.resolve(states.return?.()).catch(() => {})
  return { policy: name, keys: top.keys, scanned, isComplete }
}

function policyNamed(policies: readonly Policy[], wanted: string | undefined): Policy {
  const found =
    wanted === undefined && policies.length === 1 ? policies[0] : policies.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  const names = policies.map(({ name }) => formatValue(name)).join(', ')
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `list: policy must be the name of one policy of this limiter, ${names}; got ${formatValue(wanted)}.`,
  )
}

function listOf(store: Store): NonNullable<Store['list']> {
  if (store.list) return store.list
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'list: this store cannot list its states, as Durable Objects cannot. inspect(key) reads those of a key; count denials by onDecision to find keys; or use memoryStore(), redisStore(client) or postgresStore(pool).',
  )
}

/** The promise's value; undefined if the deadline passes first. */
function before<T>(deadline: ReturnType<typeof deadlineIn>, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = whenExpired(deadline, () => resolve(undefined))
    promise.then(
      (value) => {
        stop()
        resolve(value)
      },
      (error: unknown) => {
        stop()
        reject(asStoreError(error))
      },
    )
  })
}

/** The keys with the most use, in order: no more of them than are wanted. */
class TopKeys {
  readonly keys: ListedKey[] = []
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  add(added: ListedKey): void {
    const { keys } = this
    const last = keys.at(-1)
    if (keys.length === this.#most && last !== undefined && byUse(last, added) <= 0) return
    // A scan may find a state twice.
    const known = keys.findIndex(({ key, isDigest }) => key === added.key && isDigest === added.isDigest)
    if (known >= 0) keys.splice(known, 1)
    let [first, end] = [0, keys.length]
    while (first < end) {
      const middle = (first + end) >> 1
      if (byUse(keys[middle] as ListedKey, added) <= 0) first = middle + 1
      else end = middle
    }
    keys.splice(first, 0, added)
    if (keys.length > this.#most) keys.pop()
  }
}

/** Those that have used more come first. */
const byUse = ({ decision: a }: ListedKey, { decision: b }: ListedKey): number =>
  a.remaining - b.remaining || b.retryAfterMs - a.retryAfterMs || b.resetAfterMs - a.resetAfterMs
