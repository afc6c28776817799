import { perMinute, type Quota, type StateKey, type Take } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { made } from './made.ts'

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

/** Keys that a store mixes up if it ignores case, accents or zeros, reads numbers, or cuts long keys. */
const SIMILAR_KEYS: readonly string[] = /* @__PURE__ */ made(() => [
  ...['a', 'A', 'e', 'E', 'é', 'É', 'e\u0301', 'ss', 'ß', 'a\u200b'],
  ...['', '0', '00', '-0', '1', '01', '1.0', '1e0', '+1', ' 1', '1 ', '0x1', 'NaN', 'null', 'undefined', 'true'],
  // Floating point does not distinguish these two.
  ...['9007199254740992', '9007199254740993'],
  `${'k'.repeat(4_999)}l${'k'.repeat(5_000)}`,
  'k'.repeat(10_000),
  // Longer than two bytes can count.
  'k'.repeat(70_000),
  `${'k'.repeat(69_999)}l`,
])

/** Policies and keys that a store may mix up. */
export const awkwardKeys: readonly StateKey[] = /* @__PURE__ */ made(() =>
  [
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
    ['Q', 'a'],
    // Of another policy, as the tests of listing and deletion take each key of 'p' many times.
    ...SIMILAR_KEYS.map((key) => ['q', key]),
  ].map(([policy, key]) => ({ policy, key }) as StateKey),
)
