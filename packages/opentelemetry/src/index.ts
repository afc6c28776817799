import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createNoopMeter, type Meter, metrics, type Tracer, trace } from '@opentelemetry/api'
import { isSync, type Store } from '@spillway/core'
import { checkIsStore, checkOptions, hasMethod, invalidOption } from '@spillway/core/internal'
import { type AnyDecisionEvent, decisionRecorder } from './decisions.ts'
import { type MeasuredShedder, recordShed, type ShedEvent, shedderWatcher, watchSlots } from './in-flight.ts'
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
   * Records the decisions of all middleware and all shedders in this process; returns the function that stops. Use it or
   * `onDecision`, not both.
   */
  subscribe(): () => void
  /**
   * Measures a store: the duration of calls to a remote store, with a span for each call; the number of keys and
   * evictions of an in-memory store. Pass the result to the limiter. `name` identifies the store in metrics. Default:
   * `'default'`.
   */
  store<S extends Store>(store: S, name?: string): S
  /**
   * Measures a shedder of `@spillway/shed`, and returns it: its limit, and the calls in flight and in its queue. `name` identifies it
   * in metrics. Default: `'default'`.
   */
  shedder<S extends MeasuredShedder>(shedder: S, name?: string): S
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
  /** What is watched once the SDK has started: in-memory stores, shedders, and the slots of this process. */
  const watches: (() => void)[] = [() => watchSlots(meter)]
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
  const watchShedder = shedderWatcher()
  const tracer = (): Tracer => options.tracer ?? trace.getTracer(SCOPE)
  const onDecision = decisionRecorder(instruments)
  return {
    onDecision,
    subscribe() {
      startWatches()
      // A subscriber that throws would end the process.
      const listeners = {
        'spillway:decision': (message: unknown): void => quietly(() => onDecision(message as AnyDecisionEvent)),
        'spillway:shed': (message: unknown): void => quietly(() => recordShed(instruments(), message as ShedEvent)),
      }
      for (const [channel, listener] of Object.entries(listeners)) subscribe(channel, listener)
      return () => {
        for (const [channel, listener] of Object.entries(listeners)) unsubscribe(channel, listener)
      }
    },
    shedder: (shedder, name = 'default') => {
      checkHas('shedder', shedder, 'stats', 'made by shedder({ … })')
      checkName('shedder', name)
      watches.push(() => watchShedder(shedder, name, meter))
      startWatches()
      return shedder
    },
    store: (store, name = 'default') => {
      checkIsStore('the store of telemetry', store)
      checkName('store', name)
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

function checkHas(option: string, value: unknown, method: string, kind?: string): void {
  if ((value === undefined && kind === undefined) || hasMethod(value, method)) return
  throw invalidOption(`${option} must be ${kind ?? `a ${option} of OpenTelemetry, with ${method}`}`, value)
}

function checkName(of: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') throw invalidOption(`the name of a ${of} must be text`, name)
}

export type { AnyDecisionEvent } from './decisions.ts'
export type { MeasuredShedder } from './in-flight.ts'
