import { bucketEquality } from './equality.ts'
import { penaltyEquality, warmUpEquality, windowEquality } from './equality-counts.ts'
import { refillEquality } from './equality-refills.ts'
import type { Language } from './languages.ts'
import type { Property } from './solver.ts'

/** That the kernels are the same in two languages, but for logs and calendars. */
export const kernelEquality = (one: Language, other: Language): Readonly<Record<string, Property>> => ({
  ...windowEquality(one, other),
  ...penaltyEquality(one, other),
  ...warmUpEquality(one, other),
  ...bucketEquality(one, other),
  ...refillEquality(one, other),
})

/** Those that take a processor longer than a second: most of a key that has a state. */
export const slowEqualities = (properties: Readonly<Record<string, Property>>): readonly string[] =>
  Object.keys(properties).filter((name) => name.includes('initial units') || / state of (?!a new key$)/.test(name))
