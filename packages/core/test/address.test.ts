import { isIPv6 } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import { ipKey } from '../src/http/addresses/ip-key.ts'
import { anyAddress } from './addresses.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
  // In a network that has IPv6 only, all IPv4 clients were one.
  ['64:ff9b::203.0.113.7', '203.0.113.7'],
  ['64:FF9B:0:0:0:0:cb00:7107', '203.0.113.7'],
  ['64:ff9b:1::203.0.113.7', '64:ff9b:1:0:0:0:0:0/56'],
  ['2001:db8:1:2ff:aaaa:bbbb:cccc:dddd', '2001:db8:1:200:0:0:0:0/56'],
  ['2001:DB8:1:2FE::1', '2001:db8:1:200:0:0:0:0/56'],
  ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:0/56'],
  ['::', '0:0:0:0:0:0:0:0/56'],
  ['::1', '0:0:0:0:0:0:0:0/56'],
  ['1::', '1:0:0:0:0:0:0:0/56'],
  // As Azure's gateways send them. They stood for themselves: each connection was another client.
  ['203.0.113.7:80', '203.0.113.7'],
  ['[2001:db8:1:2ff::1]:80', '2001:db8:1:200:0:0:0:0/56'],
  ['[2001:db8:1:2ff::1]', '2001:db8:1:200:0:0:0:0/56'],
  // What is no address stands for itself, and cannot be mistaken for one.
  ['', ''],
  ['1::2::3', '1::2::3'],
  [':::', ':::'],
  ['1:2:3:4:5:6:7', '1:2:3:4:5:6:7'],
  ['1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8:9'],
  ['1:2:3:4:5:6:7::8', '1:2:3:4:5:6:7::8'],
  ['12345::', '12345::'],
  ['::ffff:203.0.113.256', '::ffff:203.0.113.256'],
  ['::ffff:203.0.113.07', '::ffff:203.0.113.07'],
  ['203.0.113.7:80:90', '203.0.113.7:80:90'],
  ['203.0.113.256:80', '203.0.113.256:80'],
  ['[203.0.113.7]:80', '[203.0.113.7]:80'],
  // What a framework says of a request on a Unix socket.
  [undefined, ''],
])('the key of %s is %s', (address, key) => expect(ipKey(address)).toBe(key))

test.each([
  [128, '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128'],
  [64, '2001:db8:ffff:ffff:0:0:0:0/64'],
  [49, '2001:db8:ffff:8000:0:0:0:0/49'],
  [48, '2001:db8:ffff:0:0:0:0:0/48'],
  [32, '2001:db8:0:0:0:0:0:0/32'],
])('a prefix of %d bits keeps as many', (ipv6Prefix, key) =>
  expect(ipKey('2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', { ipv6Prefix })).toBe(key),
)

/** The groups of an IPv6 address as Node's `isIPv6` and the URL parser read them. */
function groupsOf(address: string): readonly number[] | undefined {
  const [text = ''] = address.split('%')
  if (!isIPv6(text)) return undefined
  const [head = [], tail] = new URL(`http://[${text}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: 8 - head.length - (tail?.length ?? 0) }, () => '0')
  return [...head, ...zeros, ...(tail ?? [])].map((group) => Number.parseInt(group, 16))
}

/** The key of an address without port and brackets. */
function keyOf(address: string, prefix: number): string {
  const groups = groupsOf(address)
  if (groups === undefined) return address
  const bits = groups.reduce((all, group) => (all << 16n) | BigInt(group), 0n)
  if (bits >> 32n === 0xffffn || bits >> 32n === 0x64ff9bn << 64n) {
    return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
  }
  const host = BigInt(128 - prefix)
  const network = ((bits >> host) << host).toString(16).padStart(32, '0')
  const texts = network.match(/.{4}/g)?.map((group) => Number.parseInt(group, 16).toString(16))
  return `${texts?.join(':')}/${prefix}`
}

const withCase = fc.tuple(anyAddress, fc.boolean()).map(([text, upper]) => (upper ? text.toUpperCase() : text))
const grouped = fc
  .tuple(
    fc.array(fc.constantFrom('0', '00', '0000', 'ffff', 'FFfe', '1', '0a0B', 'a', 'FfFfF'), {
      minLength: 5,
      maxLength: 9,
    }),
    fc.constantFrom('', ':10.0.0.1', ':ffff:10.0.0.1'),
  )
  .map(([groups, end]) => `${groups.join(':')}${end}`)
const any = fc.oneof(
  withCase,
  grouped,
  fc.tuple(grouped, fc.nat(30)).map(([text, at]) => `${text.slice(0, at)}::${text.slice(at)}`),
  fc.string({ unit: fc.constantFrom(...'::::...%0019afAFgG/[] '), maxLength: 24 }),
)
/** With one character removed, added or replaced: nearly an address. */
const spoilt = fc
  .tuple(any, fc.nat(40), fc.nat(1), fc.constantFrom('', ':', '::', '.', '0', 'F', '%', '%eth0', ' ', 'é', '\0'))
  .map(([text, at, removed, extra]) => text.slice(0, at) + extra + text.slice(at + removed))
const zoned = fc.tuple(any, fc.constantFrom('%', '%eth0', '%1', '%a:b', '%::')).map((parts) => parts.join(''))
const texts = fc.oneof(any, spoilt, zoned)
const prefixes = fc.oneof(fc.integer({ min: 1, max: 128 }), fc.constantFrom(56, 64, 128))
/** Brackets and ports have tests of their own. */
const hasPort = (text: string): boolean => /^\[|^[\d.]+:\d+$/.test(text)

test('every text has the key that Node finds in it', () => {
  fc.assert(
    fc.property(texts, prefixes, (text, ipv6Prefix) => {
      const key = ipKey(text, { ipv6Prefix })
      if (!hasPort(text)) expect(key).toBe(keyOf(text, ipv6Prefix))
    }),
    { numRuns: runsOf(2_500) },
  )
})

test('brackets, a port and a zone do not change the key', () => {
  fc.assert(
    fc.property(withCase, fc.integer({ min: 1, max: 65_535 }), fc.constantFrom('', '%eth0'), (address, port, zone) => {
      const key = keyOf(address, 56)
      if (address.includes(':')) {
        expect(ipKey(`[${address}${zone}]:${port}`)).toBe(key)
        expect(ipKey(`[${address}${zone}]`)).toBe(key)
        expect(ipKey(`${address}${zone}`)).toBe(key)
      } else expect(ipKey(`${address}:${port}`)).toBe(key)
    }),
  )
})

test.each([0, 129, 56.5, '56', Number.NaN])('a prefix of %j bits is rejected', (ipv6Prefix) => {
  expect(() => ipKey('2001:db8::1', { ipv6Prefix: ipv6Prefix as number })).toThrow('ipv6Prefix must be 1 to 128 bits')
})
