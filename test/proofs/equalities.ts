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

/** Those that take a processor longer than two seconds. */
export const slowEqualities = (properties: Readonly<Record<string, Property>>): readonly string[] =>
  Object.keys(properties).filter(
    (name) => name.startsWith('a bucket') && (name.includes('initial units') || !/(a new key|a number)$/.test(name)),
  )
