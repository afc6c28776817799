import type { AdapterBounds } from '@spillway/conformance'
import { runsOf } from './runs.ts'

/**
 * Whether the frameworks are the oldest that the adapters support: `vitest.config.ts`. Lean entries are tested on the newest
 * only: what they read of a framework and write to it is what full entries do.
 */
export const areOldest = process.env['FRAMEWORKS'] === 'oldest'

/**
 * Bounds of an adapter. Visits of a request's texts are counted on the newest frameworks only, as it is our code that reads
 * them; `npm run test:long` counts them on the oldest, too.
 */
export const boundsOf = (bounds: AdapterBounds = {}): AdapterBounds =>
  areOldest && runsOf(1) === 1 ? { ...bounds, mostVisits: Number.POSITIVE_INFINITY } : bounds
