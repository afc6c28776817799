import { LATEST, LONGEST } from './bucket-model.ts'
import { bucketClaims, inputs, STATES, type StateOf, stepOf, storedClaims } from './equality.ts'
import type { Language } from './languages.ts'
import type { Path } from './path.ts'
import { SameProducts } from './products.ts'
import type { Property } from './solver.ts'
import { atMost, difference, equal, greater, type Num, number, type Obj, object, sum, ZERO } from './values.ts'

type Schedule = Readonly<Record<'interval' | 'amount' | 'tick' | 'offset', Num>>

const COUNTED = [1, LONGEST] as const

/** A step of a bucket that refills by any amount in any interval. Its products and quotients are any. */
function scheduledStep(path: Path): readonly [step: Obj, schedule: Schedule] {
  path.products = new SameProducts(path)
  const ranges = { interval: COUNTED, amount: COUNTED, tick: COUNTED, offset: [0, LONGEST] as const }
  const schedule = inputs(path, 'schedule', ranges) as Schedule
  // A unit takes a microsecond or more.
  path.assume(atMost(schedule.amount, schedule.interval))
  // Where SQL asks whether there is a schedule.
  path.decide(equal(schedule.interval, ZERO))
  return [object({ ...stepOf(path, false, false).fields, schedule: object(schedule) }), schedule]
}

/** That the bucket kernel is the same in two languages, if it refills at intervals. */
export function refillEquality(one: Language, other: Language): Readonly<Record<string, Property>> {
  const properties: Record<string, Property> = {}
  for (const state of ['a new key', 'a number']) {
    properties[`a bucket that refills at intervals, in the state of ${state}`] = (path) => {
      const [step, schedule] = scheduledStep(path)
      const found = (STATES[state] as StateOf)(path)
      // Such a moment is stored one interval late.
      if (found.kind === 'number') {
        const moment = greater(found, difference(ZERO, found))
        path.assume(atMost(schedule.interval, sum(moment, schedule.offset)))
      }
      return bucketClaims(path, [one, other], found, path.input('now', 1, LATEST), step)
    }
  }
  properties['the state of a bucket that refills at intervals that is stored'] = (path) => {
    const [step] = scheduledStep(path)
    return storedClaims(path, [one, other], step, number(1))
  }
  return properties
}
