import { type Attributes, type Meter, metrics, type ObservableResult } from '@opentelemetry/api'
import { heldSlots } from '@spillway/core/in-flight'
import { bounded, type Instruments, SCOPE } from './instruments.ts'

/** A decision of a shedder, as `onDecision` and the channel `spillway:shed` report it. */
export interface ShedEvent {
  readonly allowed: boolean
  readonly reason: string | undefined
  readonly priority: string
  readonly waitedMs: number
}

/** The part of a shedder that is measured. */
export interface MeasuredShedder {
  stats(): { readonly limit: number; readonly inFlight: number; readonly queued: number }
}

type Gauge = keyof ReturnType<MeasuredShedder['stats']>

/** Records a decision of a shedder. Not on a span: a call that has waited is decided while another one ends. */
export function recordShed({ calls, queueing }: Instruments, { allowed, reason, priority, waitedMs }: ShedEvent): void {
  const attributes: Attributes = {
    'spillway.outcome': allowed ? 'allowed' : 'dropped',
    'spillway.priority': priority,
  }
  calls.add(1, reason === undefined ? attributes : { ...attributes, 'spillway.shed.reason': reason })
  queueing.record(waitedMs / 1000, attributes)
}

/** Builds the function that measures shedders when a reader collects them. Those of one name are added up. */
export function shedderWatcher(): (shedder: MeasuredShedder, name: string, meter?: Meter) => void {
  const byName = new Map<string, Set<MeasuredShedder>>()
  let isWatched = false
  return (shedder, name, meter) => {
    byName.set(name, (byName.get(name) ?? new Set()).add(shedder))
    if (isWatched) return
    isWatched = true
    const observe = (gauge: Gauge) => (result: ObservableResult) => {
      for (const [name, shedders] of byName)
        result.observe(
          [...shedders].reduce((sum, each) => sum + each.stats()[gauge], 0),
          { 'spillway.shedder': name },
        )
    }
    for (const [gauge, metric, description] of GAUGES)
      gaugeOf(meter, `spillway.shed.${metric}`, '{call}', description).addCallback(observe(gauge))
  }
}

const GAUGES = [
  ['limit', 'limit', 'How many calls a shedder lets through at once.'],
  ['inFlight', 'in_flight', 'Calls that a shedder has let through, and that have not ended.'],
  ['queued', 'queued', 'Calls that wait in the queue of a shedder.'],
] as const

/** Measures the slots of `inFlight` that this process holds, when a reader collects them. */
export function watchSlots(meter?: Meter): void {
  const nameOf = bounded()
  // A policy whose slots have been released has none: without an observation, an SDK may keep the last one.
  const byName = new Map<string, number>()
  gaugeOf(meter, 'spillway.slots.in_flight', '{slot}', 'Slots that this process holds.').addCallback((result) => {
    for (const name of byName.keys()) byName.set(name, 0)
    for (const [policy, held] of heldSlots()) {
      const name = nameOf(policy)
      byName.set(name, (byName.get(name) ?? 0) + held)
    }
    for (const [name, held] of byName) result.observe(held, { 'spillway.policy': name })
  })
}

const gaugeOf = (meter: Meter = metrics.getMeter(SCOPE), name: string, unit: string, description: string) =>
  meter.createObservableGauge(name, { unit, description })
