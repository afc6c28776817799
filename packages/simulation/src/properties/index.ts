import type { Simulation } from '../simulation.ts'
import { listsAreTrue, resetsDeleteStates, sweepsRemoveNothing } from './administration.ts'
import { storesAdmitNoMore } from './admission.ts'
import { errorsAreStoreErrors, everyCallIsAnswered } from './answers.ts'
import { nothingIsLost } from './balance.ts'
import { expiredCallsAreNotSent } from './deadlines.ts'
import { denialsAreTrue } from './denials.ts'
import { processesAdmitNoMore } from './local.ts'
import { circuitsClose, commandsAreBounded } from './recovery.ts'
import { waitsAreLongEnough } from './retries.ts'
import { stallsAreNoFailures } from './stalls.ts'

/** What holds for every run. Each returns what it found wrong. */
export const PROPERTIES: Readonly<Record<string, (simulation: Simulation) => readonly string[]>> = {
  storesAdmitNoMore,
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
  stallsAreNoFailures,
  circuitsClose,
  commandsAreBounded,
}
