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
import { stallsAreNoFailures } from './stalls.ts'

/** What holds for every run. Each returns what it found wrong. */
export const PROPERTIES: Readonly<Record<string, (simulation: Simulation) => readonly string[]>> = {
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
