import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { slotsVectors } from '../../packages/conformance/src/vectors/slots.ts'
import { kernelSource, mutated } from './kernels.ts'
import { programOf, replayed } from './replay.ts'
import { explore } from './slots.ts'

// The state of slots is a list, which the solver has no numbers for. So every order of calls and times is tried instead, up to
// a length: what is shown is not for all inputs, as the other proofs are. `slots.ts` says which.
const isWhole = process.env['SPILLWAY_PROOFS'] === 'whole'
const source = kernelSource()

const mutants: Readonly<Record<string, readonly [text: string, replacement: string, property: string]>> = {
  'allows a slot too many': [
    'allowed: used + check <= limit,\n    base,\n    next,\n    id: first',
    'allowed: used + check <= limit + 1,\n    base,\n    next,\n    id: first',
    'slots are acquired if and only if enough are free',
  ],
  'acquires beyond the limit by a charge': [
    'Math.min(step.increment, Math.max(step.limit - used, 0))',
    'step.increment',
    'slots are acquired beside those in use',
  ],
  'counts a slot for a microsecond longer': [
    'if (slots2[i] > now) used++',
    'if (slots2[i] >= now) used++',
    'all slots are free again after their time to live',
  ],
  'gives the number of a released slot again': [
    'const first = Math.max(now, base.last + 1);',
    'const first = Math.max(now, (base.slots.at(-2) ?? 0) + 1);',
    'no number is given twice',
  ],
  'gives numbers by the clock alone': [
    'const first = Math.max(now, base.last + 1);',
    'const first = now;',
    'no number is given twice',
  ],
  'keeps expired slots when others are acquired': [
    'if (base.slots[i + 1] > now) slots2.push',
    'slots2.push',
    'slots are acquired beside those in use',
  ],
  'clears a slot away in its last microsecond': [
    'if (base.slots[i + 1] > now) slots2.push',
    'if (base.slots[i + 1] > now + 1) slots2.push',
    'slots are acquired beside those in use',
  ],
  'renews what was cleared away': [
    'return [0, base];\n  const renewed',
    'return [id, { last, ttl, slots: [...slots2, id, now + ttl] }];\n  const renewed',
    'a renewal renews its own slots that are left, and no others',
  ],
  'renews all slots': [
    'isNamed(i - 1) ? now + ttl',
    'true ? now + ttl',
    'a renewal renews its own slots that are left, and no others',
  ],
  'renews the first of several slots': [
    'i % 2 === 1 && isNamed(i - 1)',
    'i % 2 === 1 && slots2[i - 1] === id',
    'a renewal renews its own slots that are left, and no others',
  ],
  'releases without looking at the number': [
    'const from = id > 0 ? id : slots2',
    'const from = id > 0 ? slots2[0] ?? 0 : slots2',
    'a release frees its own slots, and no others',
  ],
  'releases later slots, too': ['const to = id > 0 ? id - increment : last + 1;', 'const to = last + 1;', 'a release'],
  'holds a slot of the future until its end': [
    'if (slots2.every((each, i) => i % 2 === 0 || each <= end)) return state;',
    'return state;',
    'all slots are free again after their time to live',
  ],
  'writes what was denied': [
    'kept: state === void 0 ? void 0 : base\n  };\n}\nfunction usedIn',
    'kept: next\n  };\n}\nfunction usedIn',
    'a denial leaves the slots',
  ],
}

describe('in every order of calls and times, slots', () => {
  // Of 7 actions on 2 slots; `npm run prove` tries 9 on 2, and 8 on 3.
  test('are never more than the limit, have numbers of their own, and are free after a time to live', () => {
    const program = programOf(source)
    expect(explore(program, 2, 7)).toBeGreaterThan(10_000)
    if (isWhole) expect(Math.min(explore(program, 2, 9), explore(program, 3, 8))).toBeGreaterThan(20_000)
  }, 600_000)
})

describe('an order is found in which a property does not hold for a kernel that', () => {
  test.each(Object.entries(mutants))('%s', (_, [text, replacement, property]) => {
    const program = programOf(mutated(source, text, replacement))
    expect(() => explore(program, 2, 6)).toThrow(property)
  })
})

test('the golden vectors of slots are what is answered', () => {
  const program = programOf(source)
  for (const vector of slotsVectors) expect(replayed(program, vector)).toEqual(vector.rows)
})

describe('a golden vector of slots is not what is answered by a kernel that', () => {
  test.each(Object.entries(mutants))('%s', (_, [text, replacement]) => {
    const program = programOf(mutated(source, text, replacement))
    expect(slotsVectors.some((vector) => !isDeepStrictEqual(replayed(program, vector), vector.rows))).toBe(true)
  })
})
