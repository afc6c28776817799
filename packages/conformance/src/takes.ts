import { perMinute, type Quota, type StateKey, type Take } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'

/** Consumes units of a key: ten a minute by default. */
export const consume = (key: string, cost = 1, quota: Quota = perMinute(10), policy = 'p'): Take => ({
  policy,
  key,
  step: stepFor(quota, 'consume', cost),
})

/** Peeks at one unit of a key. */
export const peek = (key: string, quota: Quota = perMinute(10), policy = 'p'): Take => ({
  policy,
  key,
  step: stepFor(quota, 'peek', 1),
})

/** Policies and keys that a store may mix up. */
export const awkwardKeys: readonly StateKey[] = [
  ['p', 'a:b'],
  ['p:a', 'b'],
  ['p', 'p'],
  ['p', ''],
  ['p', ' '],
  ['p', '__proto__'],
  ['__proto__', 'constructor'],
  ['p', '{a}'],
  ['p', '{}'],
  ['p', '}{'],
  ['p', 'a\u0000b'],
  ['p', 'a\u0000'],
  ['p', 'a\nb'],
  ['p', 'é'],
  ['p', 'e\u0301'],
  ['p', '💧'],
  ['p', '\ud83d'],
  ['p', '\ud83e'],
  ['p', '%00'],
  ['p', "'; drop table x; --"],
  ['p', 'k'.repeat(10_000)],
  ['p', `${'k'.repeat(9_999)}l`],
].map(([policy, key]) => ({ policy, key }) as StateKey)
