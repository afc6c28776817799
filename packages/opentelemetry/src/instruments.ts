import { type Attributes, type Counter, type Histogram, type Meter, metrics } from '@opentelemetry/api'

/** What is measured. Names and units follow the semantic conventions; no attribute ever holds a key. */
export interface Instruments {
  readonly requests: Counter
  readonly decisions: Counter
  readonly degraded: Counter
  readonly remaining: Histogram
  readonly retryAfter: Histogram
  readonly delay: Histogram
  readonly takes: Histogram
}

/** Who measures, in every meter and tracer. */
export const SCOPE = '@spillway/opentelemetry'

/** Bounds fit for waits: from a millisecond to a day. */
const WAITS = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400]
/** Bounds fit for a store next door, and one that is going down. */
const TAKES = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const SHARES = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1]

const bounds = (explicitBucketBoundaries: number[]) => ({ advice: { explicitBucketBoundaries } })

export function instrumentsOf(meter: Meter = metrics.getMeter(SCOPE)): Instruments {
  return {
    requests: meter.createCounter('spillway.requests', {
      unit: '{request}',
      description: 'Requests that were decided about.',
    }),
    decisions: meter.createCounter('spillway.decisions', {
      unit: '{decision}',
      description: "Policies' own answers: a request of several policies has several.",
    }),
    degraded: meter.createCounter('spillway.degraded', {
      unit: '{request}',
      description: 'Requests that were decided about without the store.',
    }),
    remaining: meter.createHistogram('spillway.remaining', {
      unit: '1',
      description: 'The share of its quota that was left to a key after its request.',
      ...bounds(SHARES),
    }),
    retryAfter: meter.createHistogram('spillway.retry_after', {
      unit: 's',
      description: 'How long refused requests were told to wait.',
      ...bounds(WAITS),
    }),
    delay: meter.createHistogram('spillway.delay', {
      unit: 's',
      description: 'How long requests that queue were held back.',
      ...bounds(WAITS),
    }),
    takes: meter.createHistogram('spillway.store.operation.duration', {
      unit: 's',
      description: 'How long a store elsewhere took to answer, or to fail.',
      ...bounds(TAKES),
    }),
  }
}

/** The most different values of an attribute that are told apart. */
const MOST_VALUES = 200

/** Tells names apart, up to a number of them: those that come later are all `_OTHER`, as the conventions say. */
export function bounded(): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.has(name)) return name
    if (known.size >= MOST_VALUES) return '_OTHER'
    known.add(name)
    return name
  }
}

/** An attribute set by the name of its one changing value: made once, since each request needs it. */
export function cached(make: (name: string) => Attributes): (name: string) => Attributes {
  const known = new Map<string, Attributes>()
  const name = bounded()
  return (value) => {
    const shown = name(value)
    const attributes = known.get(shown) ?? make(shown)
    known.set(shown, attributes)
    return attributes
  }
}
