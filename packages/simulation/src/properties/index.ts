import type { Quota } from '@spillway/core'
import type { Simulation } from '../simulation.ts'
import { listsAreTrue, resetsDeleteStates, sweepsRemoveNothing } from './administration.ts'
import { storesAdmitNoMore } from './admission.ts'
import { errorsAreStoreErrors, everyCallIsAnswered } from './answers.ts'
import { nothingIsLost } from './balance.ts'
import { expiredCallsAreNotSent } from './deadlines.ts'
import { denialsAreTrue } from './denials.ts'
import { releasesReturnLeases } from './leases.ts'
import { processesAdmitNoMore } from './local.ts'
import { replacedQuotasAdmitNoMore } from './quotas.ts'
import { circuitsClose, commandsAreBounded, errorsOpenNoCircuit } from './recovery.ts'
import { waitsAreLongEnough } from './retries.ts'
import {
  holdersAreNoMore,
  killedProcessesReturnSlots,
  lossesAreReported,
  processesHoldNoMore,
  ratesAreTakenWithSlots,
  slotsAreKept,
  slotsAreReleased,
  statesHoldNoMore,
  waitersAreServed,
  waitersAreServedInOrder,
} from './slots.ts'
import { stallsAreNoFailures } from './stalls.ts'

/** What holds for runs. Each returns what it found wrong. */
type Properties = Readonly<Record<string, (simulation: Simulation) => readonly string[]>>

const OF_RATES: Properties = {
  storesAdmitNoMore,
  replacedQuotasAdmitNoMore,
  processesAdmitNoMore,
  nothingIsLost,
  denialsAreTrue,
  waitsAreLongEnough,
  everyCallIsAnswered,
  errorsAreStoreErrors,
  expiredCallsAreNotSent,
  sweepsRemoveNothing,
  resetsDeleteStates,
  listsAreTrue,
  releasesReturnLeases,
  stallsAreNoFailures,
  errorsOpenNoCircuit,
  circuitsClose,
  commandsAreBounded,
}

const OF_SLOTS: Properties = {
  holdersAreNoMore,
  statesHoldNoMore,
  processesHoldNoMore,
  slotsAreKept,
  lossesAreReported,
  killedProcessesReturnSlots,
  slotsAreReleased,
  ratesAreTakenWithSlots,
  waitersAreServedInOrder,
  waitersAreServed,
  everyCallIsAnswered,
  errorsAreStoreErrors,
  expiredCallsAreNotSent,
  sweepsRemoveNothing,
  stallsAreNoFailures,
  circuitsClose,
}

/** What holds for the runs of a quota. */
export const propertiesOf = ({ kernel }: Quota): Properties => (kernel === 'slots' ? OF_SLOTS : OF_RATES)
