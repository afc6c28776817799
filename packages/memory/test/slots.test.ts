import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashOf, ManySlots } from '../src/slots.ts'

/** Slots as a shelf keeps them: the list of keys beside them, and slots that are free used first. */
function shelf() {
  const keys: (string | undefined)[] = []
  const free: number[] = []
  const slots = new ManySlots(keys)
  return {
    get: (key: string) => slots.get(key),
    add: (key: string) => {
      const slot = free.pop() ?? keys.length
      keys[slot] = key
      slots.set(key, slot)
      return slot
    },
    delete: (key: string) => {
      const slot = slots.get(key)
      slots.delete(key)
      if (slot === undefined) return
      keys[slot] = undefined
      free.push(slot)
    },
  }
}

const anyKey = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.ipV4(),
  fc.string({ minLength: 60, maxLength: 300 }),
  fc.constantFrom('', '__proto__', '\0', 'a'.repeat(64), 'a'.repeat(65), 'a'.repeat(128)),
)

test('are those of a Map, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('add', 'delete'), anyKey), { maxLength: 400 }), (steps) => {
      const [ours, model] = [shelf(), new Map<string, number>()]
      for (const [step, key] of steps) {
        if (step === 'delete') {
          ours.delete(key)
          model.delete(key)
        } else if (!model.has(key)) model.set(key, ours.add(key))
        expect(ours.get(key)).toBe(model.get(key))
      }
      for (const [, key] of steps) expect(ours.get(key)).toBe(model.get(key))
    }),
  )
})

test('are found among so many that tables grow, and while half of them go', () => {
  const ours = shelf()
  const keyOf = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
  const slots = Array.from({ length: 100_000 }, (_, n) => ours.add(keyOf(n)))
  for (let n = 0; n < slots.length; n += 2) ours.delete(keyOf(n))
  const found = slots.map((_, n) => ours.get(keyOf(n)))
  expect(found).toEqual(slots.map((slot, n) => (n % 2 === 0 ? undefined : slot)))
})

// At the edge, a limiter is made before there is a request, where nothing may be drawn by lot.
test('draw nothing by lot before the first key', () => {
  const { getRandomValues } = crypto
  let drawn = 0
  crypto.getRandomValues = (into) => {
    drawn++
    return getRandomValues.call(crypto, into) as typeof into
  }
  try {
    const ours = shelf()
    expect(ours.get('a')).toBeUndefined()
    ours.delete('a')
    expect(drawn).toBe(0)
    ours.add('a')
    expect([ours.get('a'), drawn]).toEqual([0, 1])
  } finally {
    crypto.getRandomValues = getRandomValues
  }
})

test('take no more room for keys that come and go', () => {
  const ours = shelf()
  const { arrayBuffers } = process.memoryUsage()
  for (let n = 0; n < 500_000; n++) {
    ours.add('a')
    ours.delete('a')
  }
  expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(100_000)
})

// Not drawn by lot here, so that the test comes out the same each time.
const secret = Int32Array.from({ length: 64 }, (_, i) => createHash('sha256').update(String(i)).digest().readInt32LE())
const TIMES = 1 << 16

/** Keys as people have them, and keys as somebody would have them who wants them all to lie in one place. */
test.each<[what: string, keyOf: (n: number) => string]>([
  ['addresses', (n) => `10.0.${n >> 8}.${n & 255}`],
  ['networks', (n) => `2001:db8:${n.toString(16)}:0:0:0:0:0/56`],
  ['mail addresses', (n) => `${n.toString(36)}@example.com`],
  ['keys of a tier', (n) => `4:free${String(n).length}:${n}`],
  ['keys that agree but for the order of their letters', (n) => lettersOf(n) + lettersOf(~n)],
])('%s are spread evenly', (_, keyOf) => {
  const parts = new Map<number, number>()
  for (let n = 0; n < TIMES; n++) {
    const part = hashOf(keyOf(n), secret) >>> 26
    parts.set(part, (parts.get(part) ?? 0) + 1)
  }
  expect(parts.size).toBe(64)
  expect(Math.max(...parts.values())).toBeLessThan((2 * TIMES) / 64)
})

/** One of two letters for each of sixteen bits, so far apart from those of the next that places come around again. */
const lettersOf = (bits: number): string =>
  Array.from({ length: 16 }, (_, i) => ((bits >> i) & 1 ? 'a' : 'b'))
    .join('')
    .padEnd(64, '-')
