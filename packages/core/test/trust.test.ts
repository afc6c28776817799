import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import { guess } from '../src/common/guess.ts'
import { type TrustProxy, trustOf } from '../src/features/trusted-proxies/client-address.ts'
import { parseAddress } from '../src/http/addresses/address.ts'
import { QuotaError } from '../src/index.ts'
import { anyAddress, anyCidr, anyHeaderText, ipv4 } from './addresses.ts'
import { behind, client, forwardedTo } from './clients.ts'

test('without trust, no header changes the client', () => {
  const names = fc.constantFrom('x-forwarded-for', 'forwarded', 'x-real-ip')
  fc.assert(
    fc.property(fc.option(anyAddress, { nil: undefined }), anyHeaderText, names, (peer, text, header) => {
      expect(client({ hops: 0, header }, peer, { [header]: text })).toBe(peer)
      expect(client({ cidrs: [], header }, peer, { [header]: text })).toBe(peer)
    }),
  )
})

test('whatever a client writes left of what our proxies add, it stays the same client', () => {
  const ours = ['10.0.0.0/8']
  const strangers = anyAddress.filter((address) => !trustOf(ours).trusts(address, 0))
  const proxies = fc.array(
    ipv4.map((address) => `10.${address.split('.').slice(1).join('.')}`),
    { maxLength: 3 },
  )
  fc.assert(
    fc.property(anyHeaderText, strangers, proxies, (evil, address, hops) => {
      const trusts = [{ hops: hops.length + 1 }, { cidrs: ours }]
      const list = `${evil}, ${[address, ...hops].join(', ')}`
      const node = (each: string): string => (each.includes(':') ? `"[${each}]:80"` : each)
      const forwarded = `${evil}, ${[address, ...hops].map((each) => `for=${node(each)}`).join(', ')}`
      for (const trust of trusts) {
        expect(behind(trust, list)).toBe(address)
        expect(forwardedTo(forwarded, { ...trust, header: 'forwarded' })).toBe(address)
      }
    }),
    { numRuns: runsOf(500) },
  )
})

test('no header makes a client of what is no address', () => {
  fc.assert(
    fc.property(anyHeaderText, fc.constantFrom('x-forwarded-for', 'forwarded', 'x-real-ip'), (text, header) => {
      for (const trust of [{ hops: 3 }, { cidrs: ['::/0'] }]) {
        expect(isIP(client({ ...trust, header }, '10.0.0.1', { [header]: text }) ?? '')).toBeGreaterThan(0)
      }
    }),
    { numRuns: runsOf(500) },
  )
})

test('reads no more of a header than so many proxies', () => {
  const text = (count: number): string =>
    Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}`).join(', ')
  expect(behind(['10.0.0.0/8'], text(64))).toBe('10.0.0.0')
  expect(behind(['10.0.0.0/8'], text(5_000))).toBe('10.0.19.72')
})

describe('addresses and networks, as Node reads them', () => {
  const text = fc.oneof(anyAddress, fc.string({ unit: fc.constantFrom(...'::...0123456789abcdefg'), maxLength: 20 }))
  const spoilt = fc
    .tuple(text, fc.nat(20), fc.constantFrom('', ':', '.', '0', 'f', ' '))
    .map(([address, at, extra]) => address.slice(0, at) + extra + address.slice(at + 1))

  test('the same texts are addresses', () => {
    fc.assert(
      fc.property(fc.oneof(text, spoilt), (address) => {
        expect(parseAddress(address) !== undefined).toBe(isIP(address) > 0)
      }),
      { numRuns: runsOf(1_250) },
    )
  })

  test('the same addresses are in a network', () => {
    const near = fc
      .tuple(anyCidr, fc.nat(128), anyAddress)
      .map(([cidr, keep, other]) => ({ cidr, address: mix(cidr.address, other, keep) }))
    fc.assert(
      fc.property(near, ({ cidr, address }) => {
        const list = new BlockList()
        list.addSubnet(cidr.address, cidr.bits, isIP(cidr.address) === 4 ? 'ipv4' : 'ipv6')
        const [, high = '', low = ''] = /^64:ff9b:0:0:0:0:([\da-f]+):([\da-f]+)$/.exec(address) ?? []
        const inside =
          list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6') ||
          // Node knows no translated addresses.
          (high !== '' && list.check(`::ffff:${high}:${low}`, 'ipv6'))
        const reported = behind([`${cidr.address}/${cidr.bits}`], '203.0.113.7', address) === '203.0.113.7'
        expect(reported).toBe(inside)
      }),
      { numRuns: runsOf(1_250) },
    )
  })
})

/** An address with the first `keep` bits of one and the rest of another. */
function mix(one: string, other: string, keep: number): string {
  const [a, b] = [parseAddress(one), parseAddress(other)] as [readonly number[], readonly number[]]
  const bits = (groups: readonly number[]) => groups.map((group) => group.toString(2).padStart(16, '0')).join('')
  const mixed = bits(a).slice(0, keep) + bits(b).slice(keep)
  return Array.from({ length: 8 }, (_, i) => Number.parseInt(mixed.slice(16 * i, 16 * i + 16), 2).toString(16)).join(
    ':',
  )
}

test.each<[string, unknown, string]>([
  ['true', true, 'true would trust any address that a client sends'],
  ['a word', 'loopback', 'the number of proxies in front'],
  ['null', null, 'the number of proxies in front'],
  ['half a hop', 1.5, '0 to 64 hops'],
  ['too many hops', 65, '0 to 64 hops'],
  ['fewer than none', { hops: -1 }, '0 to 64 hops'],
  ['neither', { header: 'forwarded' }, 'must have either hops'],
  ['both', { hops: 1, cidrs: [] }, 'must have either hops'],
  ['no list', { cidrs: '10.0.0.0/8' }, "cidrs must be a list such as ['10.0.0.0/8']"],
  ['a name', ['loopback'], 'got "loopback"'],
  ['an empty address', [''], 'got ""'],
  ['a number', [10], 'got 10'],
  ['a long prefix', ['10.0.0.0/33'], 'got "10.0.0.0/33"'],
  ['a longer prefix', ['::/129'], 'got "::/129"'],
  ['a netmask', ['10.0.0.0/255.0.0.0'], 'got "10.0.0.0/255.0.0.0"'],
  ['two prefixes', ['10.0.0.0/8/8'], 'got "10.0.0.0/8/8"'],
  ['no prefix', ['10.0.0.0/'], 'got "10.0.0.0/"'],
  ['a prefix that begins with 0', ['10.0.0.0/08'], 'got "10.0.0.0/08"'],
  ['a zone', ['fe80::1%eth0'], 'got "fe80::1%eth0"'],
  ['no header', { hops: 1, header: '' }, 'the name of a header'],
  ['a sentence', { hops: 1, header: 'x forwarded for' }, 'the name of a header'],
  ['a misspelt name', { hop: 1 }, 'Did you mean "hops"?'],
])('trust in %s is rejected', (_, trust, message) => {
  const build = () => trustOf(trust as TrustProxy, guess)
  expect(build).toThrow(QuotaError)
  expect(build).toThrow(message)
})
