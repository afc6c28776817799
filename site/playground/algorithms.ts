import {
  type Duration,
  fixedWindow,
  leakyBucket,
  type Micros,
  micros,
  perDay,
  perHour,
  perMinute,
  perSecond,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core'

/** The numbers of all algorithms; each uses the ones it needs. */
export interface Numbers {
  readonly limit: number
  readonly every: number
  readonly unit: 's' | 'm' | 'h' | 'd'
  /** The burst of the token bucket; 0 means the limit. */
  readonly burst: number
  /** The number of portions in which the interval refill refills a window's units. */
  readonly portions: number
  /** The queue of the leaky bucket. */
  readonly queue: number
}

/** An algorithm: how core builds it, and the code for that. */
export interface Algorithm {
  readonly name: string
  /** The label of its level. */
  readonly left: string
  /** The size of a key's state. */
  readonly memory: string
  readonly quota: (numbers: Numbers) => Quota
  readonly code: (numbers: Numbers) => string
}

const per = ({ every, unit }: Numbers): `${number}${Numbers['unit']}` => `${every}${unit}`

/** The window by which all algorithms are measured. Throws core's QuotaError if it is invalid. */
export const windowOf = (numbers: Numbers): Micros => micros(per(numbers), 'the window')

/** A duration in the largest unit that divides it. */
export function durationText(millis: number): Duration {
  const [size, unit] = (
    [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
      [60_000, 'm'],
      [1_000, 's'],
    ] as const
  ).find(([size]) => millis % size === 0) ?? [1, 'ms']
  return `${millis / size}${unit}`
}

const refillOf = (numbers: Numbers): Duration => durationText(windowOf(numbers) / 1000 / numbers.portions)

const SHORT = { '1s': ['perSecond', perSecond], '1m': ['perMinute', perMinute] } as const
const LONG = { '1h': ['perHour', perHour], '1d': ['perDay', perDay] } as const
const RATES: Readonly<Record<string, readonly [name: string, make: typeof perSecond]>> = { ...SHORT, ...LONG }

export const ALGORITHMS = {
  token: {
    name: 'Token bucket',
    left: 'units left',
    memory: 'one number',
    quota: (numbers) => {
      const { limit, burst } = numbers
      const options = burst === 0 ? {} : { burst }
      const [, make] = RATES[per(numbers)] ?? []
      return make ? make(limit, options) : tokenBucket({ limit, per: per(numbers), ...options })
    },
    code: (numbers) => {
      const { limit, burst } = numbers
      const [name] = RATES[per(numbers)] ?? []
      const options = burst === 0 ? '' : `, ${name ? '{ ' : ''}burst: ${burst}${name ? ' }' : ''}`
      return name ? `${name}(${limit}${options})` : `tokenBucket({ limit: ${limit}, per: '${per(numbers)}'${options} })`
    },
  },
  interval: {
    name: 'Interval refill',
    left: 'units left',
    memory: 'one number',
    quota: (numbers) => tokenBucket({ limit: numbers.limit, per: per(numbers), refill: refillOf(numbers) }),
    code: (numbers) =>
      `tokenBucket({ limit: ${numbers.limit}, per: '${per(numbers)}', refill: '${refillOf(numbers)}' })`,
  },
  fixed: {
    name: 'Fixed window',
    left: 'units left',
    memory: 'one number',
    quota: (numbers) => fixedWindow({ limit: numbers.limit, window: per(numbers) }),
    code: (numbers) => `fixedWindow({ limit: ${numbers.limit}, window: '${per(numbers)}' })`,
  },
  sliding: {
    name: 'Sliding window',
    left: 'units left',
    memory: 'three numbers',
    quota: (numbers) => slidingWindow({ limit: numbers.limit, window: per(numbers) }),
    code: (numbers) => `slidingWindow({ limit: ${numbers.limit}, window: '${per(numbers)}' })`,
  },
  log: {
    name: 'Sliding log',
    left: 'units left',
    memory: 'two numbers per request',
    quota: (numbers) => slidingLog({ limit: numbers.limit, window: per(numbers) }),
    code: (numbers) => `slidingLog({ limit: ${numbers.limit}, window: '${per(numbers)}' })`,
  },
  leaky: {
    name: 'Leaky bucket',
    left: 'queue places left',
    memory: 'one number',
    quota: (numbers) => leakyBucket({ limit: numbers.limit, per: per(numbers), queue: numbers.queue }),
    code: (numbers) => `leakyBucket({ limit: ${numbers.limit}, per: '${per(numbers)}', queue: ${numbers.queue} })`,
  },
} satisfies Record<string, Algorithm>

/** The name of the function that the code of a quota calls. */
export const functionIn = (code: string): string => code.slice(0, code.indexOf('('))

export type AlgorithmId = keyof typeof ALGORITHMS
export const ALGORITHM_IDS = Object.keys(ALGORITHMS) as AlgorithmId[]
