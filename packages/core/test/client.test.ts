import { describe, expect, test } from 'vitest'
import type { TrustProxy } from '../src/features/trusted-proxies/client-address.ts'
import { behind, client, forwardedTo } from './clients.ts'

describe('proxies by number', () => {
  test.each([
    [0, '203.0.113.7', '10.0.0.1'],
    [1, '203.0.113.7', '203.0.113.7'],
    [1, '6.6.6.6, 203.0.113.7', '203.0.113.7'],
    [2, '203.0.113.7, 10.0.0.2', '203.0.113.7'],
    [2, '6.6.6.6,203.0.113.7,10.0.0.2', '203.0.113.7'],
    // Never beyond what is there.
    [3, '203.0.113.7, 10.0.0.2', '203.0.113.7'],
    [1, '', '10.0.0.1'],
    // What is no address ends the way at the proxy that wrote it down.
    [1, '6.6.6.6, unknown', '10.0.0.1'],
    [2, '6.6.6.6, 203.0.113.300, 10.0.0.2', '10.0.0.2'],
    [2, '6.6.6.6, , 10.0.0.2', '10.0.0.2'],
    [1, '203.0.113.7, ', '10.0.0.1'],
  ])('%d in front of "%s" gives %s', (hops, forwarded, address) => {
    expect(behind(hops, forwarded)).toBe(address)
    expect(behind({ hops }, forwarded)).toBe(address)
  })

  test('a peer without an address counts as a proxy: it is one, at the other end of a Unix socket', () => {
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    expect(client(1, undefined, headers)).toBe('203.0.113.7')
    expect([client(0, undefined, headers), client(1, undefined)]).toEqual([undefined, undefined])
  })
})

// What npm's proxy-addr documents, retold.
describe('proxies by address', () => {
  test.each([
    ['a peer that is not ours speaks for itself', ['10.0.0.9'], '203.0.113.7', '10.0.0.1'],
    [
      'the first address that is not ours is the client',
      ['10.0.0.0/8'],
      '6.6.6.6, 203.0.113.7, 10.0.0.2',
      '203.0.113.7',
    ],
    ['one not ours hides all that are left of it', ['10.0.0.1'], '10.0.0.1, 203.0.113.7', '203.0.113.7'],
    ['the farthest is the client when all are ours', ['10.0.0.0/8'], '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['without a header it is the peer', ['10.0.0.0/8'], '', '10.0.0.1'],
    ['garbage ends the way at our last proxy', ['10.0.0.0/8'], '203.0.113.7, _hidden, 10.0.0.2', '10.0.0.2'],
    ['IPv6', ['10.0.0.1', '2001:db8::/32'], '2001:db9::1, 2001:db8::5', '2001:db9::1'],
    ['IPv4 mapped into IPv6 is that IPv4', ['10.0.0.1', '192.168.0.0/16'], '6.6.6.6, ::ffff:192.168.1.1', '6.6.6.6'],
    ['a network reported in mapped form', ['::ffff:10.0.0.0/104'], '6.6.6.6', '6.6.6.6'],
    ['a network with bits beyond its prefix', ['10.9.9.9/8'], '6.6.6.6', '6.6.6.6'],
    ['no proxy is trusted', [], '203.0.113.7', '10.0.0.1'],
  ])('%s', (_, cidrs, forwarded, address) => {
    expect(behind(cidrs, forwarded)).toBe(address)
    expect(behind({ cidrs }, forwarded)).toBe(address)
  })

  test('a mapped peer is the IPv4 it is', () =>
    expect(behind(['10.0.0.0/8'], '203.0.113.7', '::ffff:10.0.0.1')).toBe('203.0.113.7'))

  test('a peer without an address is unknown', () =>
    expect(client(['0.0.0.0/0', '::/0'], undefined, { 'x-forwarded-for': '203.0.113.7' })).toBe(undefined))
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  [' 203.0.113.7\t', '203.0.113.7'],
  ['203.0.113.7:80', '203.0.113.7'],
  ['"203.0.113.7:80"', '203.0.113.7'],
  ['2001:db8::7', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['[2001:db8::7]:80', '2001:db8::7'],
  ['"[2001:db8::7]:_port"', '2001:db8::7'],
  ['[::ffff:203.0.113.7]:80', '::ffff:203.0.113.7'],
  ['fe80::1%eth0', 'fe80::1'],
  ['[fe80::1%25eth0]:80', 'fe80::1'],
])('an entry %j is the address %s', (entry, address) => {
  expect(behind(1, entry)).toBe(address)
  expect(client({ hops: 1, header: 'x-real-ip' }, '10.0.0.1', { 'x-real-ip': entry })).toBe(address)
})

test.each([
  ...['203.0.113.7:', '203.0.113', '203.0.113.7.', '0x7f.0.0.1', '203.0.113.07', '203.0.113.7%eth0', '[203.0.113.7]'],
  ...[
    '[2001:db8::7',
    '2001:db8::7]:80',
    '[2001:db8::7]80',
    '[2001:db8::7]:80:90',
    '"203.0.113.7',
    '::1::',
    '[]',
    ':80',
  ],
  ...['unknown', '_hidden', 'localhost', '""', '*', `${'0'.repeat(200)}203.0.113.7`, `${' '.repeat(200)}203.0.113.7`],
])('an entry %j is no address', (entry) => {
  expect(behind(1, entry)).toBe('10.0.0.1')
  expect(client({ hops: 1, header: 'x-real-ip' }, '10.0.0.1', { 'x-real-ip': entry })).toBe('10.0.0.1')
})

describe('Forwarded (RFC 7239)', () => {
  test.each([
    ['for=203.0.113.7', '203.0.113.7'],
    ['For="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::17'],
    ['for=192.0.2.60;proto=http;by=203.0.113.43', '192.0.2.60'],
    ['proto=https ; FOR=192.0.2.60', '192.0.2.60'],
    ['for=6.6.6.6, for=198.51.100.17', '198.51.100.17'],
    ['for=6.6.6.6,for=198.51.100.17;host="a,b;for=6.6.6.6"', '198.51.100.17'],
    ['for=198.51.100.17;host="a\\",for=6.6.6.6;\\\\"', '198.51.100.17'],
    // A client that leaves a quote open does not swallow what our proxy added.
    ['for="6.6.6.6, for=198.51.100.17', '198.51.100.17'],
    ['for="6.6.6.6\\, for="198.51.100.17"', '198.51.100.17'],
    ['for=unknown', '10.0.0.1'],
    ['for=_hidden, for=_SEVKISEK', '10.0.0.1'],
    ['for=6.6.6.6;for=198.51.100.17', '10.0.0.1'],
    ['proto=https', '10.0.0.1'],
    ['xfor=6.6.6.6', '10.0.0.1'],
    ['203.0.113.7', '10.0.0.1'],
    ['for=6.6.6.6, ', '10.0.0.1'],
    ['', '10.0.0.1'],
  ])('%s', (header, address) => expect(forwardedTo(header)).toBe(address))

  test('is walked from proxy to proxy, and X-Forwarded-For beside it does not count', () => {
    const trust = { cidrs: ['10.0.0.0/8'], header: 'forwarded' }
    expect(forwardedTo('for=6.6.6.6, for=198.51.100.17, for="10.0.0.2:80"', trust)).toBe('198.51.100.17')
    expect(client(trust, '10.0.0.1', { 'x-forwarded-for': '6.6.6.6' })).toBe('10.0.0.1')
  })
})

describe('a header that holds the one address', () => {
  const headers = { 'cf-connecting-ip': '203.0.113.7', 'x-forwarded-for': '6.6.6.6' }
  test.each<[TrustProxy, string]>([
    [{ hops: 1, header: 'CF-Connecting-IP' }, '203.0.113.7'],
    [{ cidrs: ['10.0.0.0/8'], header: 'cf-connecting-ip' }, '203.0.113.7'],
    // Not from a stranger.
    [{ hops: 0, header: 'cf-connecting-ip' }, '10.0.0.1'],
    [{ cidrs: ['10.0.0.2'], header: 'cf-connecting-ip' }, '10.0.0.1'],
    [{ hops: 1, header: 'true-client-ip' }, '10.0.0.1'],
  ])('%j gives %s', (trust, address) => expect(client(trust, '10.0.0.1', headers)).toBe(address))

  test('two of them joined are none: one was the client’s', () =>
    expect(client({ hops: 1, header: 'x-real-ip' }, '10.0.0.1', { 'x-real-ip': '6.6.6.6, 203.0.113.7' })).toBe(
      '10.0.0.1',
    ))
})
