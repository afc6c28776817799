import {
  type BucketStep,
  type Micros,
  type PreparedTake,
  QuotaError,
  type Step,
  type SyncStore,
  type Taken,
} from '@spillway/core'
import { smallDigester } from '@spillway/core/internal'
import { bucketTake } from './bucket-take.ts'
import { machineClock } from './clock.ts'
import { type ConsumingStore, countingStore, statesOfEach } from './counting-store.ts'
import type { Numbers } from './earlies.ts'
import { holds } from './holds.ts'
import { PolicyStates } from './policy-states.ts'
import { MapSlots } from './slots.ts'

/** The maximum number of keys per policy: that of `memoryStore` by default. */
const MAX_KEYS = 100_000

/**
 * Returns an in-memory store that consumes units and peeks, of buckets that refill continuously, such as `perMinute(100)`: all that
 * most limiters need. It is exact, synchronous, bounded, and has no timers. It keeps up to 100,000 keys per policy; beyond
 * that, keys that have used the least are evicted.
 */
export function memoryStore(): SyncStore {
  return countingStore(machineClock(), new Map(), newStates, prepare, prepare)
}

/** Returns the part of `memoryStore` that consumes: the store of limiters of the lean entries that are given none. */
export function consumingStore(): ConsumingStore {
  const statesOf = statesOfEach(new Map(), newStates)
  return { prepareSync: (policy, step) => prepareConsume(statesOf(policy), step), clock: machineClock() }
}

const newStates = (): PolicyStates => new PolicyStates(MAX_KEYS, new MapSlots(smallDigester), listOfNumbers())

/** Of so few slots, a list is copied in less than a millisecond when it grows. */
function listOfNumbers(): Numbers {
  const numbers: number[] = []
  return {
    get: (slot) => numbers[slot] ?? 0,
    set: (slot, value) => {
      numbers[slot] = value
    },
  }
}

const prepare = (states: PolicyStates, step: Step): PreparedTake => {
  const take = prepareConsume(states, step)
  return step.peek ? peeking(states, take) : take
}

function prepareConsume(states: PolicyStates, step: Step): PreparedTake {
  if (step.kernel !== 'bucket' || !consumes(step) || !holds(states, step)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `this store has only buckets such as perMinute(100); got a step of ${step.kernel}. Write store: memoryStore() of '@spillway/memory', or createRateLimit(anyQuota).`,
    )
  }
  const take: PreparedTake = bucketTake(states, step, {
    look(key, now) {
      moveBack(states, key, now, step)
      return take.look(key, now)
    },
    commit: (allowed) => take.commit(allowed),
    take: (key, now) => take.take(key, now),
  })
  return take
}

/** Consumes and writes nothing. */
function peeking({ slots, earlies }: PolicyStates, { look, commit }: PreparedTake): PreparedTake {
  const peek = (key: string, now: Micros): boolean => {
    const slot = slots.find(key)
    if (slot < 0) return look(key, now)
    const [moment, early] = [slots.moment(slot), earlies.get(slot)]
    const fits = look(key, now)
    slots.move(slot, moment)
    earlies.set(slot, early)
    return fits
  }
  const take = (key: string, now: Micros): Taken => {
    peek(key, now)
    return commit(false)
  }
  return { look: peek, commit: () => commit(false), take }
}

const consumes = ({ schedule, increment, check }: BucketStep): boolean =>
  schedule === null && increment >= 0 && check >= 0

/** The kernel's answer to a state beyond an empty bucket's: the clock has stepped back, or the quota was larger. */
function moveBack({ slots, earlies }: PolicyStates, key: string, now: Micros, { ceiling }: BucketStep): void {
  const slot = slots.find(key)
  slots.move(slot, now + ceiling)
  earlies.set(slot, 0)
}
