import { modelStore, START } from '@spillway/conformance'
import { calendarWindow, type Micros, type Quota } from '../src/index.ts'
import { decide, receivedStep, sentStep, stepFor } from '../src/internal.ts'

export const HOUR: Micros = 3_600e6
export const DAY: Micros = 24 * HOUR
export const at = (text: string): Micros => Date.parse(`${text}Z`) * 1000

export const daily = (timeZone: string, limit = 5): Quota => calendarWindow({ limit, unit: 'day', timeZone })

/** A key in a store. `caller` is the time of the process that sends the step. */
export function subject() {
  const store = modelStore(() => START)
  return (quota: Quota, now: Micros, { cost = 1, caller = now, verb = 'consume' as const } = {}) => {
    const step = receivedStep(sentStep(stepFor(quota, verb, cost), caller))
    const [taken] = store.takeSync([{ policy: 'p', key: 'a', step }], now)
    return decide('p', quota, cost, step, taken as NonNullable<typeof taken>)
  }
}
