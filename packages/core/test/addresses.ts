import fc from 'fast-check'

/** An IPv4 address. */
export const ipv4: fc.Arbitrary<string> = fc.ipV4()
/** An IPv6 address in any spelling, also with IPv4 at its end. */
const ipv6 = fc.oneof(
  fc.ipV6(),
  ipv4.map((address) => `::ffff:${address}`),
  ipv4.map((address) => `64:ff9b::${address}`),
)
export const anyAddress = fc.oneof(ipv4, ipv6)

/** A network, with whatever bits beyond its prefix. */
export const anyCidr = fc.oneof(
  fc.record({ address: ipv4, bits: fc.integer({ min: 0, max: 32 }) }),
  fc.record({ address: ipv6, bits: fc.integer({ min: 0, max: 128 }) }),
)

/** What may come in a header that lists addresses: printable ASCII, mostly the characters that mean something there. */
export const anyHeaderText = fc.oneof(
  fc.string({ unit: fc.constantFrom(...',;="\\[]:.%_ 0129afor'), maxLength: 60 }),
  fc.string({ maxLength: 60 }),
  fc
    .array(fc.oneof(anyAddress, fc.constantFrom('unknown', '', '"', 'for="', '10.0.0.1')), { maxLength: 5 })
    .map((entries) => entries.join(', ')),
)
