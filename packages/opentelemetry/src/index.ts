import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Meter, type Tracer, trace } from '@opentelemetry/api'
import { checkOptions, isSync, type Store } from '@spillway/core'
import { type AnyDecisionEvent, decisionRecorder } from './decisions.ts'
import { type Instruments, instrumentsOf, SCOPE } from './instruments.ts'
import { timed, watchRoom } from './stores.ts'

/** What `telemetry` takes. */
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

/** What can be measured, piece by piece. */
export interface Telemetry {
  /** Records a decision of one limiter: `rateLimit({ onDecision: telemetry().onDecision })`. */
  readonly onDecision: (event: AnyDecisionEvent) => void
  /** Records the decisions of all middleware in this process; returns how to stop. Use it or `onDecision`, not both. */
  subscribe(): () => void
  /**
   * Measures a store: how long one elsewhere takes to answer, with a span for each call; how many keys one in this
   * process keeps and forgets. Give the limiter what it returns. `name` tells stores apart; `'default'` unless given.
   */
  store<S extends Store>(store: S, name?: string): S
}

/**
 * Metrics and spans of what limiters decide, for any OpenTelemetry SDK. Keys are never recorded, and every attribute has
 * few values. The SDK has to be started before the first decision, not before this call.
 *
 * @example
 * const measure = telemetry()
 * measure.subscribe()
 * const store = measure.store(memoryStore())
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  checkOptions('telemetry', options, ['meter', 'tracer'])
  const { meter } = options
  // Made when first needed: instruments that are made before the SDK is there lead nowhere.
  let made: Instruments | undefined
  const rooms: (() => void)[] = []
  const instruments = (): Instruments => {
    if (made) return made
    made = instrumentsOf(meter)
    for (const watch of rooms) watch()
    return made
  }
  const onceMade = (watch: () => void): void => {
    if (made) watch()
    else rooms.push(watch)
  }
  const tracer = (): Tracer => options.tracer ?? trace.getTracer(SCOPE)
  const onDecision = decisionRecorder(instruments)
  return {
    onDecision,
    subscribe() {
      const listener = (message: unknown): void => onDecision(message as AnyDecisionEvent)
      subscribe('spillway:decision', listener)
      return () => unsubscribe('spillway:decision', listener)
    },
    store: (store, name = 'default') => {
      if (!isSync(store)) return timed(store, name, instruments, tracer)
      // One in this process answers before a clock could tell: only its room is watched.
      onceMade(() => watchRoom(store, name, meter))
      return store
    },
  }
}

export type { AnyDecisionEvent } from './decisions.ts'
