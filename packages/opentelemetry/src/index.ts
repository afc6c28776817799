import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createNoopMeter, type Meter, metrics, type Tracer, trace } from '@opentelemetry/api'
import { isSync, QuotaError, type Store } from '@spillway/core'
import { checkIsStore, checkOptions, formatValue } from '@spillway/core/internal'
import { type AnyDecisionEvent, decisionRecorder } from './decisions.ts'
import { type Instruments, instrumentsOf, SCOPE } from './instruments.ts'
import { quietly } from './quietly.ts'
import { sizeWatcher, timed } from './stores.ts'

/** The options of `telemetry`. */
export interface TelemetryOptions {
  /**
   * The meter that records metrics.
   * @default the global meter provider's
   */
  readonly meter?: Meter
  /**
   * The tracer that records spans.
   * @default the global tracer provider's
   */
  readonly tracer?: Tracer
}

/** The parts that can be measured. */
export interface Telemetry {
  /** Records a decision of one limiter: `rateLimit({ onDecision: telemetry().onDecision })`. */
  readonly onDecision: (event: AnyDecisionEvent) => void
  /**
   * Records the decisions of all middleware in this process; returns the function that stops. Use it or `onDecision`,
   * not both.
   */
  subscribe(): () => void
  /**
   * Measures a store: the duration of calls to a remote store, with a span for each call; the number of keys and
   * evictions of an in-memory store. Pass the result to the limiter. `name` identifies the store in metrics. Default:
   * `'default'`.
   */
  store<S extends Store>(store: S, name?: string): S
}

/**
 * Metrics and spans of rate limit decisions, for any OpenTelemetry SDK. Keys are never recorded, and every attribute
 * has few values. The SDK must be started before the first decision, but not before this call. If limiters with in-memory
 * stores are called without middleware, start it before `store` or `subscribe`, or set `meter`.
 *
 * @example
 * const measure = telemetry()
 * measure.subscribe()
 * const store = measure.store(memoryStore())
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  checkOptions('telemetry', options, ['meter', 'tracer'])
  const { meter } = options
  checkHas('meter', meter, 'createCounter')
  checkHas('tracer', options.tracer, 'startSpan')
  // Made on first use: instruments that are made before the SDK starts record nothing.
  let made: Instruments | undefined
  /** The in-memory stores to be watched once the SDK has started. */
  const watches: (() => void)[] = []
  const startWatches = (): void => {
    if (quietly(() => hasStarted(meter))) for (const watch of watches.splice(0)) quietly(watch)
  }
  const instruments = (): Instruments => {
    if (made) return made
    made = instrumentsOf(meter)
    startWatches()
    return made
  }
  const watchSize = sizeWatcher()
  const tracer = (): Tracer => options.tracer ?? trace.getTracer(SCOPE)
  const onDecision = decisionRecorder(instruments)
  return {
    onDecision,
    subscribe() {
      startWatches()
      // A subscriber that throws would end the process.
      const listener = (message: unknown): void => quietly(() => onDecision(message as AnyDecisionEvent))
      subscribe('spillway:decision', listener)
      return () => unsubscribe('spillway:decision', listener)
    },
    store: (store, name = 'default') => {
      checkIsStore('the store of telemetry', store)
      if (typeof name !== 'string' || name === '') {
        throw new QuotaError('ERR_SPILLWAY_OPTION', `the name of a store must be text; got ${formatValue(name)}.`)
      }
      if (!isSync(store)) return timed(store, name, instruments, tracer)
      // An in-memory store answers too fast to be timed: only its size and evictions are measured. A limiter that is called by
      // hand reports no decisions, so its store is watched from now on if possible.
      watches.push(() => watchSize(store, name, meter))
      startWatches()
      return store
    },
  }
}

/** Whether instruments that are made now record: until the SDK starts, the global meter is one that does nothing. */
const hasStarted = (meter: Meter = metrics.getMeter(SCOPE)): boolean => meter !== createNoopMeter()

function checkHas(option: string, value: unknown, method: string): void {
  if (value === undefined || typeof (value as Record<string, unknown> | null)?.[method] === 'function') return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${option} must be a ${option} of OpenTelemetry, with ${method}; got ${formatValue(value)}.`,
  )
}

export type { AnyDecisionEvent } from './decisions.ts'
