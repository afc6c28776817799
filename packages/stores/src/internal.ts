// What only the packages of this repository share: that of PostgreSQL has kernels of its own.

export type { Answers, Call } from './calls.ts'
export { coalescing, type Send, takenOf } from './coalesce.ts'
export { timeoutOf } from './failure.ts'
export { digestOf, endOf, keyedDigest, type Names, nameAfter, namesOf } from './names.ts'
export { millis } from './options.ts'
export { retrying } from './retry.ts'
export { answerBy, EARLIER_MS, TimeoutError, type Until, untilIn, within } from './until.ts'
