import { createHash } from 'node:crypto'
import { digester } from '@spillway/core/internal'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { Hashes, SHORT } from '../src/hashes.ts'
import { memoryStore, perMinute, rateLimiter } from '../src/index.ts'
import { PackedSlots } from '../src/packed-slots.ts'
import { ListedMapSlots, MapSlots, type Slots } from '../src/slots.ts'

/** Assigns slots as `PolicyStates` does: free ones first. */
function shelf(slots: Slots = new PackedSlots()) {
  const free: number[] = []
  let length = 0
  return {
    find: (key: string) => slots.find(key),
    isTaken: (slot: number) => slots.isTaken(slot),
    add: (key: string) => {
      const slot = free.pop() ?? length++
      slots.set(key, slot)
      return slot
    },
    delete: (key: string) => {
      const slot = slots.find(key)
      if (slot < 0) return
      slots.clear(slot)
      free.push(slot)
    },
  }
}

const anyKey = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.ipV4(),
  fc.string({ minLength: 60, maxLength: 300 }),
  fc.constantFrom('0', '1', '#', '#0', '#1', '##1', '01', '4294967295'),
  fc.constantFrom('', '__proto__', '\0', '\0\0', '\xff', '\u0100', 'a\u0161'),
  fc.constantFrom(...[35, 36, 37, 63, 64, 65, 128].map((length) => 'a'.repeat(length))),
)

/** Checks that slots match those of a Map after any insertions and deletions. */
function expectLikeMap(keys: fc.Arbitrary<string>, make: () => Slots = () => new PackedSlots()): void {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('add', 'delete'), keys), { maxLength: 400 }), (steps) => {
      const [ours, model] = [shelf(make()), new Map<string, number>()]
      for (const [step, key] of steps) {
        if (step === 'delete') {
          ours.delete(key)
          model.delete(key)
        } else if (!model.has(key)) model.set(key, ours.add(key))
        expect(ours.find(key)).toBe(model.get(key) ?? -1)
      }
      for (const [, key] of steps) expect(ours.find(key)).toBe(model.get(key) ?? -1)
    }),
  )
}

test.each([
  ['packed', () => new PackedSlots()],
  ['found by a Map', () => new MapSlots(digester)],
])('%s are those of a Map, whatever comes and goes', (_, make) => expectLikeMap(anyKey, make))

test.each([
  ['packed', () => new PackedSlots()],
  ['found by a Map', () => new ListedMapSlots(digester)],
])('%s have a digest of a long key, and a key as long as a digest as it is', (_, make) => {
  const slots = make()
  const keys = ['a'.repeat(300), 'b'.repeat(16), 'c'.repeat(36)]
  for (const [slot, key] of keys.entries()) slots.set(key, slot)
  const digest = { key: expect.stringMatching(/^[0-9a-f]{32}$/), isDigest: true }
  expect(keys.map((_, slot) => slots.keyOf(slot))).toEqual([
    digest,
    { key: keys[1], isDigest: false },
    { key: keys[2], isDigest: false },
  ])
  expect(keys.map((key) => slots.find(key))).toEqual([0, 1, 2])
})

/** The strings that a limiter stores in Maps of this runtime for these keys. */
function askedOfMaps(keys: readonly string[]): ReadonlySet<unknown> {
  const asked = new Set<unknown>()
  const spies = (['get', 'set', 'has', 'delete'] as const).map((method) => {
    const original = Map.prototype[method] as (...args: unknown[]) => unknown
    return vi.spyOn(Map.prototype, method).mockImplementation(function (this: unknown, ...args: unknown[]) {
      // The registry of names looks up Maps, which no client chooses.
      if (!(args[0] instanceof Map)) asked.add(args[0])
      return original.apply(this, args)
    } as never)
  })
  const limiter = rateLimiter({ quota: perMinute(1), store: memoryStore({ maxKeys: 2 }) })
  const allowed = keys.map((key) => limiter.consumeSync(key).allowed)
  for (const spy of spies) spy.mockRestore()
  expect(allowed).toEqual(keys.map(() => true))
  return asked
}

const INDEXES = ['0', '7', '65536', '131072', '16777216', '4294901760', '4294967294', '9999999999']

/** The versions that a runtime reports. */
const runtime = (node: string, v8 = '12.4.254.21-node.35'): void => {
  vi.spyOn(process, 'versions', 'get').mockReturnValue({ node, v8 } as never)
}

// V8 hashed an array index without a seed (CVE-2026-21717): 32,000 multiples of 65,536 took 260 times as long as random
// keys in Node 20.19.0, 22.22.1 and 24.14.0. Clients cannot choose the hash of any other string.
test.each([
  ['Node 20.19.0', () => runtime('20.19.0')],
  ['Node 20.20.1', () => runtime('20.20.1')],
  ['Node 22.22.1', () => runtime('22.22.1')],
  ['Node 23.11.0', () => runtime('23.11.0')],
  ['Node 24.14.0', () => runtime('24.14.0')],
  ['Node 25.8.1', () => runtime('25.8.1')],
  ['a runtime that claims to be Node 26', () => runtime('26.0.0', '14.6.202.33')],
  ['a runtime without versions', () => vi.stubGlobal('process', {})],
  ['a runtime without a process', () => vi.stubGlobal('process', undefined)],
])('in %s, no Map holds an array index, and no key collides with the name of one', (_, run) => {
  run()
  const asked = askedOfMaps([...INDEXES, ...INDEXES.map((key) => `#${key}`), '01', '10.0.0.1', '#', '##'])
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  expect([...asked].filter((key) => /^\d{1,10}$/.test(String(key)))).toEqual([])
  expect(asked).toContain('10.0.0.1')
})

// 32,000 multiples of 65,536 take as long as random keys in each of them.
test.each(['20.20.2', '20.21.0', '22.22.2', '22.23.0', '24.14.1', '24.15.0', '25.8.2', '25.9.0', '26.0.0', '30.1.2'])(
  'in Node %s, which hashes array indexes with a secret, a Map holds them as they are',
  (node) => {
    runtime(node)
    const asked = askedOfMaps([...INDEXES, '#7'])
    vi.restoreAllMocks()
    for (const key of [...INDEXES, '#7']) expect(asked).toContain(key)
  },
)

// Without a secret in the hash, or with one that a string cancels, clients can choose keys that collide. In Bun 1.4.5
// and Node 24.3.0, 12,000 keys that start with a constant of the hash took 40 to 100 times as long as random ones.
test.each([
  ['Bun', () => vi.stubGlobal('Bun', {})],
  ['Node 24.0.0', () => vi.spyOn(process, 'versions', 'get').mockReturnValue({ node: '24.0.0' } as never)],
  ['Node 24.4.0', () => vi.spyOn(process, 'versions', 'get').mockReturnValue({ node: '24.4.0' } as never)],
])('no key gets into a Map in %s, whose hashes anybody can choose', (_, run) => {
  run()
  const asked = askedOfMaps(['alice', 'bob', 'carol', '1'])
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
  expect([...asked]).toEqual(['default'])
})

test('match those of a Map when all short keys of one length collide', () => {
  const { getRandomValues } = crypto
  // The hash of a key uses one number per character of the longest short key; further numbers are for digests.
  const draw = vi
    .spyOn(crypto, 'getRandomValues')
    .mockImplementation((into) => ((into as Int32Array).length === SHORT ? into : getRandomValues.call(crypto, into)))
  expectLikeMap(fc.string({ unit: fc.constantFrom('a', 'b', '\0', '\u0001', '\u0100', '\u0101'), maxLength: 9 }))
  draw.mockRestore()
})

test('are found after tables have grown, and while half of the keys are deleted', () => {
  const ours = shelf()
  const keyOf = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
  const slots = Array.from({ length: 100_000 }, (_, n) => ours.add(keyOf(n)))
  for (let n = 0; n < slots.length; n += 2) ours.delete(keyOf(n))
  const found = slots.map((_, n) => ours.find(keyOf(n)))
  expect(found).toEqual(slots.map((slot, n) => (n % 2 === 0 ? -1 : slot)))
})

// Edge runtimes allow no random numbers at module load, where a limiter is made.
test('need no random numbers before the first key', () => {
  const { getRandomValues } = crypto
  let drawn = 0
  crypto.getRandomValues = (into) => {
    drawn++
    return getRandomValues.call(crypto, into) as typeof into
  }
  try {
    const ours = shelf()
    expect(ours.find('a')).toBe(-1)
    ours.delete('a')
    expect(drawn).toBe(0)
    ours.add('a')
    expect([ours.find('a'), drawn > 0]).toEqual([0, true])
  } finally {
    crypto.getRandomValues = getRandomValues
  }
})

test('need no more memory for keys that are added and deleted', () => {
  const ours = shelf()
  ours.add('b')
  const { arrayBuffers } = process.memoryUsage()
  for (let n = 0; n < 500_000; n++) {
    ours.add('a')
    ours.delete('a')
  }
  expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(100_000)
})

/** Runs a function with fixed random numbers, so that a test is deterministic. */
function unchanging<T>(make: () => T): T {
  let drawn = 0
  const draw = vi.spyOn(crypto, 'getRandomValues').mockImplementation((into) => {
    const numbers = into as Int32Array<ArrayBuffer>
    for (let i = 0; i < numbers.length; i++) {
      numbers[i] = createHash('sha256').update(String(drawn++)).digest().readInt32LE()
    }
    return into
  })
  const made = make()
  draw.mockRestore()
  return made
}

const TIMES = 1 << 16

/** Ordinary keys, and keys that an attacker would choose for collisions. */
test.each<[what: string, keyOf: (n: number) => string]>([
  ['addresses', (n) => `10.0.${n >> 8}.${n & 255}`],
  ['networks', (n) => `2001:db8:${n.toString(16)}:0:0:0:0:0/56`],
  ['mail addresses', (n) => `${n.toString(36)}@example.com`],
  ['keys of a tier', (n) => `4:free${String(n).length}:${n}`],
  ['keys that agree but for the order of their letters', (n) => lettersOf(n) + lettersOf(~n)],
])('%s are spread evenly', (_, keyOf) => {
  const hashes = unchanging(() => new Hashes())
  const digest = unchanging(digester)
  const parts = new Map<number, number>()
  for (let n = 0; n < TIMES; n++) {
    const key = keyOf(n)
    const part = (hashes.fingerprint(key) || hashes.fingerprint(digest(key))) >>> 26
    parts.set(part, (parts.get(part) ?? 0) + 1)
  }
  expect(parts.size).toBe(64)
  expect(Math.max(...parts.values())).toBeLessThan((2 * TIMES) / 64)
})

/** One of two letters for each of 16 bits, with distances between the letters that make hash positions wrap around. */
const lettersOf = (bits: number): string =>
  Array.from({ length: 16 }, (_, i) => ((bits >> i) & 1 ? 'a' : 'b'))
    .join('')
    .padEnd(64, '-')
