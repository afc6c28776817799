import { decider, stepFor } from '../algorithms/algorithm.ts'
import { blockListOf, shownPolicies } from '../algorithms/penalty/block-list.ts'
import { blockedMsOf } from '../algorithms/penalty/decide-penalty.ts'
import { formatValue, invalidOption, QuotaError, StoreError } from '../common/errors.ts'
import { checkOptions } from '../common/guess.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { promised } from '../common/maybe-promise.ts'
import { checkBoolean, checkCount, isObject } from '../common/options.ts'
import { micros } from '../common/time.ts'
import type { Step } from '../kernels/kernel.ts'
import type { CallDeadline, Policy } from '../policies/policy.ts'
import { deadlineIn, isExpired, whenExpired } from '../remote/deadline.ts'
import { asStoreError, isTaken } from '../stores/answers.ts'
import type { ListedState, Store } from '../stores/store.ts'
import { isSync } from '../stores/store-kinds.ts'
import { canBlock } from './blocked.ts'
import { peekAt } from './inspect.ts'
import type { KeyList, ListedKey, ListOptions } from './list-types.ts'
import { TopKeys } from './top-keys.ts'

const LIST_OPTIONS = ['policy', 'limit', 'limited', 'blocked', 'scan', 'timeout']
/** The most keys that are returned: they are sorted in memory. */
const MOST_KEYS = 1_000

/** Lists the keys that have used the most of a policy, within bounds of count and time. */
export async function listKeys(policies: readonly Policy[], options: ListOptions): Promise<KeyList> {
  checkOptions('list', options, LIST_OPTIONS)
  const limit = checkCount('list limit', options.limit ?? 20, 1)
  const scan = checkCount('list scan', options.scan ?? 100_000, 1)
  const limited = checkBoolean('list limited', options.limited)
  const blocked = checkBoolean('list blocked', options.blocked)
  const deadline = deadlineIn(micros(options.timeout ?? '1s', 'list timeout'))
  if (limit > MOST_KEYS) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `list limit must be at most ${MOST_KEYS}; got ${limit}.`)
  }
  const policy = policyNamed(shownPolicies(policies), options.policy)
  // The states of a penalty have its blocks by hand, too.
  const blockList = canBlock(policy) ? undefined : blockListOf(policies)
  const [examined, other] = blocked && blockList ? [blockList, policy] : [policy, blockList]
  const top = new TopKeys<ListedKey>(limit, blocked ? byBlock : byUse)
  const isWanted = ({ decision: { allowed, remaining, limit }, blockedMs }: ListedKey): boolean =>
    blocked ? blockedMs !== 0 : limited ? !allowed : remaining < limit
  const add = (listed: ListedKey): void => {
    if (isWanted(listed)) top.add(listed)
  }
  const found = await examine(examined, scan, deadline, add)
  const keys = other === undefined ? top.keys : await withOther(top.keys, other, blocked)
  return { policy: policy.name, keys, ...found }
}

type States = AsyncIterator<unknown, unknown, undefined>

/** Passes the keys of a policy to `add`, within bounds of count and time. */
async function examine(
  { name, quota, storeConfig: { store } }: Policy,
  scan: number,
  deadline: CallDeadline,
  add: (listed: ListedKey) => void,
): Promise<Pick<KeyList, 'scanned' | 'isComplete'>> {
  const step = stepFor(quota, 'peek', 1)
  const decide = decider(name, quota, 1, step)
  const states = iteratorOf(store, name, step)
  let scanned = 0
  let isComplete = false
  while (scanned < scan) {
    const next = await before(deadline, states)
    if (next === undefined && scanned === 0) {
      throw new StoreError('The store listed no states in time.', undefined, { reason: 'timeout' })
    }
    isComplete = next?.done === true
    if (next === undefined || isComplete) break
    const chunk = checkChunk(next.value, step)
    scanned += chunk.length
    for (const { key, isDigest, taken } of chunk) {
      add({ key, isDigest, decision: decide(taken), blockedMs: blockedMsOf(taken) })
    }
    // An in-memory store never waits by itself, nor may one of empty chunks: other work must not wait for the whole list.
    if (isSync(store) || chunk.length === 0) await new Promise<void>((resolve) => setLongTimeout(0, resolve))
    // A chunk that is there at once wins against the timer of the deadline.
    if (isExpired(deadline)) break
  }
  if (!isComplete) promised(() => states.return?.()).catch(() => {})
  return { scanned, isComplete }
}

/** The keys with what another policy says of them: of blocked keys, their use; of used ones, their block. */
const withOther = (keys: readonly ListedKey[], other: Policy, blocked: boolean): Promise<readonly ListedKey[]> =>
  // Sent in one tick, so that a remote store batches them.
  Promise.all(
    keys.map(async (listed): Promise<ListedKey> => {
      if (listed.isDigest) return blocked ? listed : { ...listed, blockedMs: undefined }
      const decision = await peekAt(other, listed.key)
      return blocked ? { ...listed, decision } : { ...listed, blockedMs: decision.retryAfterMs }
    }),
  )

function policyNamed(policies: readonly Policy[], wanted: string | undefined): Policy {
  const found =
    wanted === undefined && policies.length === 1 ? policies[0] : policies.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  if (policies.length === 0) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'list: a function chooses the quota of this limiter by key. inspect(key) reports what the store keeps about a key.',
    )
  }
  const names = policies.map(({ name }) => formatValue(name)).join(', ')
  throw invalidOption(`list: policy must be the name of one policy of this limiter, ${names}`, wanted)
}

function listOf(store: Store): NonNullable<Store['list']> {
  if (store.list) return store.list
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'list: this store cannot list its states, as Durable Objects cannot. inspect(key) reads those of a key; count denials by onDecision to find keys; or use memoryStore(), redisStore(client) or postgresStore(pool).',
  )
}

/** The store's states, in chunks. */
function iteratorOf(store: Store, policy: string, step: Step): States {
  const list = listOf(store)
  let states: unknown
  try {
    states = list.call(store, policy, step)
  } catch (error) {
    throw asStoreError(error)
  }
  const iterate = (states as Partial<AsyncIterable<unknown>> | null | undefined)?.[Symbol.asyncIterator]
  if (typeof iterate === 'function') return iterate.call(states) as States
  throw invalidList(states)
}

/** Checks what a store lists: from a state without its numbers, no use could be computed. */
function checkChunk(chunk: unknown, step: Step): readonly ListedState[] {
  const isListed = (state: unknown): boolean =>
    isObject(state) && typeof state['key'] === 'string' && isTaken(state['taken'], step)
  if (Array.isArray(chunk) && chunk.every(isListed)) return chunk as readonly ListedState[]
  throw invalidList(Array.isArray(chunk) ? chunk.find((state) => !isListed(state)) : chunk)
}

const invalidList = (got: unknown): StoreError =>
  new StoreError(
    `The store did not list its states: list returns an async iterable of lists of { key, isDigest, taken }; got ${formatValue(got)}.`,
  )

/** The next chunk; undefined if the deadline passes first. */
function before(deadline: CallDeadline, states: States): Promise<IteratorResult<unknown> | undefined> {
  return new Promise((resolve, reject) => {
    const stop = whenExpired(deadline, () => resolve(undefined))
    promised(() => states.next())
      .then(
        (value) => (isObject(value) ? resolve(value) : reject(invalidList(value))),
        (error: unknown) => reject(asStoreError(error)),
      )
      .finally(stop)
  })
}

/** Those that are blocked for longer come first. */
const byBlock = (a: ListedKey, b: ListedKey): number => (b.blockedMs ?? 0) - (a.blockedMs ?? 0)

/** Those that have used more come first. */
const byUse = ({ decision: a }: ListedKey, { decision: b }: ListedKey): number =>
  a.remaining - b.remaining || b.retryAfterMs - a.retryAfterMs || b.resetAfterMs - a.resetAfterMs
