import { type Micros, micros, QuotaError, tokenBucket } from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { shedder } from '@spillway/shed'
import { ALGORITHM_IDS, ALGORITHMS, functionIn, windowOf } from './algorithms.ts'
import type { LaneKind, Scene } from './lane-kind.ts'
import type { Choices } from './link.ts'
import { run } from './run.ts'
import { failing } from './scenes/failing.ts'
import { policies } from './scenes/policies.ts'
import { processes } from './scenes/processes.ts'
import { PER_SECOND, shedding } from './scenes/shedding.ts'
import { meanOf, slots } from './scenes/slots.ts'
import type { Demand } from './traffic.ts'

const algorithms = (choices: Choices): readonly LaneKind[] =>
  ALGORITHM_IDS.filter((id) => choices.shown.includes(id)).map((id) => {
    const { name, left, memory, quota, code } = ALGORITHMS[id]
    const text = code(choices)
    return {
      id,
      name,
      left,
      memory,
      code: text,
      options: [`quota: ${text}`],
      imports: [functionIn(text)],
      run: (traffic) => run(quota(choices), traffic, choices),
    }
  })

const MAKERS: Readonly<Record<Scene, (choices: Choices) => readonly LaneKind[]>> = {
  algorithms,
  policies,
  processes,
  failing,
  slots,
  shedding,
}

/** How many times as long as a request takes on average a third of a run with slots is. */
const REQUESTS_LONG = 4
/** A third of a run with a service that slows down. */
const SHEDDING_WINDOW: Micros = 8_000_000

/** The traffic: as a multiple of the quota, of what the slots let through, or of what the service can serve. */
export function demandOf(choices: Choices): Demand {
  const { scene, limit, pattern, load } = choices
  if (scene === 'shedding') {
    return { pattern, load, limit: (PER_SECOND * SHEDDING_WINDOW) / 1e6, window: SHEDDING_WINDOW }
  }
  if (scene !== 'slots') return { pattern, load, limit, window: windowOf(choices) }
  const window = REQUESTS_LONG * micros(meanOf(choices), 'the duration of a request')
  return { pattern, load, limit: REQUESTS_LONG * limit, window }
}

/** Throws core's QuotaError if the numbers that all lanes need are invalid. */
export function check({ scene, ...numbers }: Choices): void {
  const { limit, every, unit, fixed } = numbers
  if (scene === 'slots') checkSlots(limit)
  else if (scene === 'shedding') shedder({ limit: fixed, maxLag: false })
  else tokenBucket({ limit, per: `${every}${unit}` })
  if (scene === 'slots') micros(meanOf(numbers), 'the duration of a request')
}

/** Each change reads all slots and all who wait: more would take seconds. */
const MOST_SLOTS = 50

function checkSlots(limit: number): void {
  inFlight(limit)
  if (limit <= MOST_SLOTS) return
  throw new QuotaError('ERR_SPILLWAY_QUOTA', `this page runs with at most ${MOST_SLOTS} slots; got ${limit}.`)
}

/** The lanes of what a visitor has chosen. */
export const laneKinds = (choices: Choices): readonly LaneKind[] => MAKERS[choices.scene](choices)
