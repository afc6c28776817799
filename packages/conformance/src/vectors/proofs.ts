import { fixedWindow, perSecond, type Quota, slidingWindow } from '@spillway/core'

/** A bucket of one unit a microsecond, of which `burst` units have their turn at once. */
export const bucketOf = (size: number, burst: number = size): Quota => ({
  ...perSecond(1_000_000, { burst: size }),
  immediateUnits: burst,
})

/** A bucket of `scale` units a microsecond. */
export const partsOf = (scale: number, size: number): Quota => perSecond(scale * 1_000_000, { burst: size })

/** A fixed window of some microseconds, from the first request on. */
export const fixedOf = (limit: number, micros: number): Quota => ({
  ...fixedWindow({ limit, window: '1s', align: 'first' }),
  window: micros,
  tick: micros,
})

/** A sliding window in ticks of a second. */
export const slidingOf = (limit: number, seconds: number): Quota => ({
  ...slidingWindow({ limit, window: seconds * 1000 }),
  tick: 1_000_000,
})
