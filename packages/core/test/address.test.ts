import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ipKey } from '../src/http/ip-key.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
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

test('however an address is written, its key is the same', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (groups) => {
      const long = groups.map((group) => group.toString(16).padStart(4, '0').toUpperCase()).join(':')
      const short = new URL(`http://[${long}]`).hostname.slice(1, -1)
      expect(ipKey(short, { ipv6Prefix: 128 })).toBe(ipKey(long, { ipv6Prefix: 128 }))
    }),
  )
})

test('never throws, whatever text comes in', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...':.%0f1g[] ') }), (text) => typeof ipKey(text) === 'string'),
  )
})

test.each([0, 129, 56.5, '56', Number.NaN])('a prefix of %j bits is rejected', (ipv6Prefix) => {
  expect(() => ipKey('2001:db8::1', { ipv6Prefix: ipv6Prefix as number })).toThrow('ipv6Prefix must be 1 to 128 bits')
})
