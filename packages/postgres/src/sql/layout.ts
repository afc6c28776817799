import type { Step } from '@spillway/core'

// What the places of the arrays mean that the SQL functions pass to each other. `steps.ts` writes steps in this order.

/** The kernels, as the first number of a step tells them. */
export const KERNELS: Readonly<Record<Step['kernel'], number>> = {
  bucket: 1,
  'sliding-window': 2,
  'sliding-log': 3,
  'warm-up': 4,
  penalty: 5,
  slots: 6,
}

/**
 * A step of a bucket. `wait` is 0 unless the call may wait; the four numbers of the refill schedule are 0 if it refills
 * continuously, `lacking` and `keep` if keys start full. `scale` is 1 if all numbers are whole microseconds.
 */
export const BUCKET_STEP = [
  'kernel',
  'peek',
  'increment',
  'check',
  'tolerance',
  'ceiling',
  'wait',
  'until',
  'burst',
  'ends',
  'whole',
  'interval',
  'amount',
  'tick',
  'offset',
  'lacking',
  'keep',
  'scale',
  'incrementEarly',
  'checkEarly',
  'toleranceEarly',
  'burstEarly',
  'untilEarly',
  'lackingEarly',
] as const

/**
 * `start1` to `start4` are the starts of a calendar's periods, or 0. `clock` is the length of windows of the clock and `offset`
 * their offset, or 0.
 */
export const SLIDING_WINDOW_STEP = [
  'kernel',
  'peek',
  'increment',
  'check',
  'limit',
  'ticks',
  'tick',
  'most',
  'since',
  'fixed',
  'start1',
  'start2',
  'start3',
  'start4',
  'clock',
  'offset',
] as const

export const SLIDING_LOG_STEP = ['kernel', 'peek', 'increment', 'check', 'limit', 'window', 'since'] as const

export const WARM_UP_STEP = [
  'kernel',
  'peek',
  'increment',
  'check',
  'tolerance',
  'half',
  'early',
  'scale',
  'until',
  'untilEarly',
  'cold',
] as const

export const PENALTY_STEP = [
  'kernel',
  'peek',
  'increment',
  'check',
  'limit',
  'window',
  'block',
  'grow',
  'max',
  'forgive',
  'since',
  'extend',
] as const

export const SLOTS_STEP = ['kernel', 'peek', 'increment', 'check', 'limit', 'ttl', 'id'] as const

/** How many numbers a step has: those that its kernel does not read are 0, and `scale` is 1. */
export const STEP_SIZE: number = BUCKET_STEP.length

// The length of a state tells its kernel: 3, 9 or 11 numbers; 5 or 7 of a bucket with refunds; pairs of a log; 13 and pairs of slots.

/** A state of a bucket from which later turns were refunded; the last three numbers are absent if all are whole microseconds. */
export const REFUNDED = ['tat', 'gross', 'turn', 'zero', 'scale', 'early', 'grossEarly'] as const
/** What a row has beside `tat` if it is not a whole microsecond. */
export const FRACTION = ['scale', 'early'] as const
export const WINDOW = ['start', 'current', 'previous'] as const
export const WARM_UP = ['writtenAt', 'ahead', 'early', 'cold', 'scale', 'zero1', 'zero2', 'zero3', 'zero4'] as const
export const PENALTY = [
  'writtenAt',
  'first',
  'count',
  'until',
  'level',
  'last',
  'zero1',
  'zero2',
  'zero3',
  'zero4',
  'zero5',
] as const

/** What slots have before the number and the end of each. */
export const SLOTS = [
  'last',
  'ttl',
  'zero1',
  'zero2',
  'zero3',
  'zero4',
  'zero5',
  'zero6',
  'zero7',
  'zero8',
  'zero9',
  'zero10',
  'zero11',
] as const

/** The state that a bucket writes; `gross` is null if it equals `tat`. */
const WRITTEN = ['tat', 'gross', 'turn', 'early', 'grossEarly'] as const

/** What `bucket` returns: then the state to write if the batch is taken, and the state if a denial changes it. */
export const BUCKET_OUTCOME = [
  'allowed',
  'base',
  'next',
  'grossNext',
  'baseEarly',
  'nextEarly',
  'grossNextEarly',
  'takenTat',
  'takenGross',
  'takenTurn',
  'takenEarly',
  'takenGrossEarly',
  'keptTat',
  'keptGross',
  'keptTurn',
  'keptEarly',
  'keptGrossEarly',
] as const

/** What the other kernels return before `base` and `next`: whether `next` is the state if taken, and `base` if denied. */
export const OUTCOME = ['allowed', 'isTaken', 'isKept'] as const

/** What `sliding_log` returns before `base` and `next`. */
export const LOG_OUTCOME = ['allowed', 'isTaken', 'isKept', 'length'] as const

/** What `slots` returns before `base` and `next`. */
export const SLOTS_OUTCOME = ['allowed', 'isTaken', 'isKept', 'length', 'id'] as const

/** What `returned_by` returns: ticks, and how much earlier they end. */
export const RETURNED = ['ticks', 'early'] as const
/** What `used_by` returns, as `Used` of core. */
export const USED = ['units', 'since', 'micros'] as const
/** What `take_bucket` returns: one of more numbers is that of `take_calls`. */
export const BUCKET_ANSWER = ['now', 'allowed', 'tick', 'early'] as const
/** The places of an array in SQL: `fieldsOf('step', BUCKET_STEP).increment` is `step[3]`. */
export const fieldsOf = <N extends string>(array: string, layout: readonly N[]): Readonly<Record<N, string>> =>
  Object.fromEntries(layout.map((name, i) => [name, `${array}[${i + 1}]`])) as Record<N, string>

/** The place of a name. */
export const placeOf = <N extends string>(layout: readonly N[], name: N): number => layout.indexOf(name) + 1

/** Part of an array in SQL: `partOf('step', STEP, 'start1', 'start4')` is `step[11:14]`. */
export const partOf = <N extends string>(array: string, layout: readonly N[], first: N, last: N, before = 0): string =>
  `${array}[${before + placeOf(layout, first)}:${before + placeOf(layout, last)}]`

/** `base` or `next` in an outcome of a kernel with such states; from one of its numbers to another. */
export function stateIn<N extends string>(
  which: 'base' | 'next',
  state: readonly N[],
  first: N = state[0] as N,
  last: N = state.at(-1) as N,
): string {
  return partOf('outcome', state, first, last, OUTCOME.length + (which === 'next' ? state.length : 0))
}

/** A number of the written state in an outcome of `bucket`, after the place of its `tat`. */
export function writtenAfter(place: string, name: (typeof WRITTEN)[number]): string {
  const more = WRITTEN.indexOf(name)
  return `outcome[${place}${more > 0 ? ` + ${more}` : ''}]`
}

/** `base` and `next` in an outcome of a kernel whose states are lists. */
const listsIn = (layout: readonly string[]): { readonly base: string; readonly next: string } => {
  const length = `outcome[${placeOf(layout, 'length')}] + ${layout.length}`
  return { base: `outcome[${layout.length + 1}:${length}]`, next: `outcome[${length} + 1:]` }
}

export const LOGS: ReturnType<typeof listsIn> = listsIn(LOG_OUTCOME)
export const SLOT_LISTS: ReturnType<typeof listsIn> = listsIn(SLOTS_OUTCOME)
