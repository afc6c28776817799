import { getEventListeners } from 'node:events'
import { expect, test, vi } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import { heldSlots, inFlight } from '../src/in-flight.ts'
import { rateLimiter, type Slot, type Store } from '../src/index.ts'
import { fakeTimeStore, useFakeTime } from './fake-time.ts'

// Slots that are acquired, lost, released and given up at random leave nothing behind: no slot, timer, listener or entry of a map.

useFakeTime()

/** `npm run test:long` has ten million. */
const CALLS = runsOf(1) > 1 ? runsOf(1_000_000) : 30_000
const KEYS = ['a', 'b', 'c', 'd']
const LIMIT = 3

const model = fakeTimeStore()
const store: Store = { ...model, take: async (ops, at) => model.takeSync(ops, at) }
const limiters = [model, store].map((store) =>
  rateLimiter({ quota: inFlight(LIMIT), store, onStoreError: 'throw', logger: { warn: () => {} } }),
)

let state = 1
/** Random whole numbers below `end`, the same in each run. */
function random(end: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * end)
}
const anyOf = <T>(all: readonly T[]): T => all[random(all.length)] as T
/** Removes any number of items, and returns them. */
const some = <T>(all: T[]): readonly T[] => all.splice(random(all.length + 1))
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** A signal of the whole process, as one for its shutdown; others abort. */
const { signal: lasting } = new AbortController()
const aborts: AbortController[] = []
const held: Slot[] = []
const outcomes = { allowed: 0, denied: 0, aborted: 0, lost: 0 }
let open = 0

async function call(): Promise<void> {
  const controller = new AbortController()
  const moment = anyOf(['never', 'before', 'at once', 'later'])
  if (moment === 'before') controller.abort()
  if (moment === 'later') aborts.push(controller)
  const signal = moment === 'never' ? lasting : controller.signal
  const onLost = (): void => void outcomes.lost++
  const options = { cost: 1 + random(2), maxWait: random(2) * 1_000, signal, onLost }
  open++
  const acquired = anyOf(limiters).acquire(anyOf(KEYS), options)
  if (moment === 'at once') controller.abort()
  const [slot] = await Promise.allSettled([acquired])
  open--
  if (slot.status === 'fulfilled') held.push(slot.value)
  else expect(slot.reason).toBe(signal.reason)
  outcomes[slot.status === 'rejected' ? 'aborted' : slot.value.allowed ? 'allowed' : 'denied']++
}

function release(slot: Slot): void {
  void slot.release()
  if (random(4) === 0) void slot.release()
}

async function step(): Promise<void> {
  void call()
  if (random(2) === 0) for (const slot of some(held)) release(slot)
  if (random(3) === 0) for (const each of some(aborts)) each.abort()
  if (random(16) === 0) await pass(random(400))
  if (random(1_000) > 0) return
  await anyOf(limiters).reset(anyOf(KEYS))
  // Those who hold slots of the key learn that they are lost when they renew them.
  if (random(2) === 0) await pass(20_000)
}

test('acquisitions that are released, or aborted at any moment, leave nothing behind', async () => {
  for (let i = 0; i < CALLS; i++) await step()
  // Those who still wait are served or denied, and what they get is released.
  while (open > 0 || held.length > 0) {
    for (const slot of held.splice(0)) release(slot)
    await pass(100)
  }
  const left = limiters.flatMap((limiter) => KEYS.map(async (key) => (await limiter.peek(key)).remaining))
  expect(new Set(await Promise.all(left))).toEqual(new Set([LIMIT]))
  expect(heldSlots()).toEqual(new Map())
  expect(getEventListeners(lasting, 'abort')).toEqual([])
  // Those who wait, by what they wait for: the registry that all copies of the package share.
  const shared = globalThis as unknown as Record<symbol, { callers: WeakMap<object, Map<string, unknown>> }>
  const callers = shared[Symbol.for('spillway')]?.callers
  expect([model, store].map((each) => callers?.get(each)?.size)).toEqual([0, 0])
  await pass(60_000)
  expect(vi.getTimerCount()).toBe(0)
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(3)
  expect(outcomes.allowed + outcomes.denied + outcomes.aborted).toBe(CALLS)
})
