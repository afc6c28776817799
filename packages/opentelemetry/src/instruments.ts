import { type Attributes, type Counter, type Histogram, type Meter, metrics } from '@opentelemetry/api'

/** The instruments. Names and units follow the semantic conventions; no attribute ever holds a key. */
export interface Instruments {
  readonly requests: Counter
  readonly decisions: Counter
  readonly degraded: Counter
  readonly remaining: Histogram
  readonly retryAfter: Histogram
  readonly delay: Histogram
  readonly takes: Histogram
  readonly calls: Counter
  readonly queueing: Histogram
}

/** The name of the meter and of the tracer. */
export const SCOPE = '@spillway/opentelemetry'

/** Bucket bounds for waits, in seconds: from 1 millisecond to 1 day. */
const WAITS = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400]
/** Bucket bounds for calls to a store, in seconds: from a fast to a failing one. */
const TAKES = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const SHARES = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1]

const bounds = (explicitBucketBoundaries: number[]) => ({ advice: { explicitBucketBoundaries } })

export function instrumentsOf(meter: Meter = metrics.getMeter(SCOPE)): Instruments {
  return {
    requests: meter.createCounter('spillway.requests', {
      unit: '{request}',
      description: 'Requests that were allowed or denied.',
    }),
    decisions: meter.createCounter('spillway.decisions', {
      unit: '{decision}',
      description: 'Decisions of single policies: a request under several policies has several.',
    }),
    degraded: meter.createCounter('spillway.degraded', {
      unit: '{request}',
      description: 'Requests that were allowed or denied without the store.',
    }),
    remaining: meter.createHistogram('spillway.remaining', {
      unit: '1',
      description: 'The fraction of its quota that remained to a key after its request.',
      ...bounds(SHARES),
    }),
    retryAfter: meter.createHistogram('spillway.retry_after', {
      unit: 's',
      description: 'The wait of each policy that denied a request. The longest is sent.',
      ...bounds(WAITS),
    }),
    delay: meter.createHistogram('spillway.delay', {
      unit: 's',
      description: 'How long queued requests were delayed.',
      ...bounds(WAITS),
    }),
    takes: meter.createHistogram('spillway.store.operation.duration', {
      unit: 's',
      description: 'How long a remote store needed to answer or fail.',
      ...bounds(TAKES),
    }),
    calls: meter.createCounter('spillway.shed.calls', {
      unit: '{call}',
      description: 'Calls that a shedder allowed or dropped.',
    }),
    queueing: meter.createHistogram('spillway.shed.queue.duration', {
      unit: 's',
      description: 'How long calls waited in the queue of a shedder.',
      ...bounds(WAITS),
    }),
  }
}

/** The most values that an attribute can have, with that of all further ones. */
const MOST_VALUES = 200

/** Limits the number of names: later ones are all `_OTHER`, as the conventions say. */
export function bounded(): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.has(name)) return name
    if (known.size >= MOST_VALUES - 1) return '_OTHER'
    known.add(name)
    return name
  }
}

/**
 * Caches attribute sets by the name of their one variable value, because each request needs one. `nameOf` limits the number
 * of names.
 */
export function cached(
  nameOf: (value: string) => string,
  make: (name: string) => Attributes,
): (value: string) => Attributes {
  const known = new Map<string, Attributes>()
  return (value) => {
    const shown = nameOf(value)
    const attributes = known.get(shown) ?? make(shown)
    known.set(shown, attributes)
    return attributes
  }
}
