import { afterEach, describe, expect, test, vi } from 'vitest'
import { absorb, digester } from '../src/common/digest.ts'

afterEach(() => void vi.restoreAllMocks())

const withoutNode = (): void => void vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)

/** Texts of neighbouring lengths around those of blocks, which end in what others are filled up with. */
const lengths = Array.from({ length: 300 }, (_, n) => n)

describe.each([
  ['with the crypto of Node', () => {}],
  ['without', withoutNode],
])('%s', (_, prepare) => {
  test.each<[what: string, keys: readonly string[]]>([
    ['are as long as they are', lengths.flatMap((n) => ['\0'.repeat(n + 1), '\u0100'.repeat(n + 1)])],
    ['have one character at another place', lengths.map((n) => 'b'.padStart(n + 1, 'a').padEnd(300, 'a'))],
    ['have one wide character at another place', lengths.map((n) => '\u0101'.padStart(n + 1, 'a').padEnd(300, 'a'))],
    ['change places 16 apart', ['a', 'b'].flatMap((one) => ['a', 'b'].map((other) => one.padEnd(16, '-') + other))],
    ['have characters of more than a byte', lengths.map((n) => String.fromCharCode(n << 7))],
    ['have half characters', ['\ud800', '\ud801', '\udc00', '\ufffd'].map((half) => half.repeat(100))],
    ['consist of the same bytes', ['ab'.repeat(200), '\u6261'.repeat(200)]],
  ])('a digest is 16 bytes, and tells keys apart that %s', (_, keys) => {
    prepare()
    const digest = digester()
    const digests = keys.map(digest)
    expect(new Set(digests).size).toBe(keys.length)
    for (const each of digests) expect(each).toMatch(/^[\0-\xff]{16}$/)
    expect(keys.map(digest)).toEqual(digests)
  })

  test('each bit of a key changes about half of those of its digest', () => {
    prepare()
    const digest = digester()
    const key = 'k'.repeat(50)
    const bits = (text: string): string =>
      [...text].map((each) => each.charCodeAt(0).toString(2).padStart(8, '0')).join('')
    const before = bits(digest(key))
    for (let i = 0; i < 8 * key.length; i++) {
      const other = String.fromCharCode(key.charCodeAt(i >> 3) ^ (1 << (i & 7)))
      const after = bits(digest(key.slice(0, i >> 3) + other + key.slice((i >> 3) + 1)))
      const changed = [...after].filter((bit, at) => bit !== before[at]).length
      // Of 128 bits, 64 are to be expected, and fewer than 24 in one of 10^13 cases.
      expect(changed).toBeGreaterThan(23)
      expect(changed).toBeLessThan(105)
    }
  })

  test('digests of two processes have nothing in common', () => {
    prepare()
    expect(digester()('a'.repeat(300))).not.toBe(digester()('a'.repeat(300)))
  })
})

// The first test vector of the authors: the code of no bytes at all, which are filled up to a block that begins with 1.
test('blocks are mixed as those of Chaskey', () => {
  const key = [0x833d_3433, 0x009f_389f, 0x2398_e64f, 0x417a_cf39]
  const last = [0x0cf4_d04b, 0x027c_e27e, 0x8e63_993c, 0x05eb_3ce4]
  const masked = (words: readonly number[], mask: readonly number[]) =>
    words.map((word, i) => word ^ (mask[i] as number))
  const state = Int32Array.from(masked(key, last))
  absorb(state, '\x01'.padEnd(16, '\0'), false)
  const code = masked([...state], last).map((word) => word >>> 0)
  expect(code).toEqual([0x792e_8fe5, 0x75ce_87aa, 0x2d14_50b5, 0x1191_970b])
})
