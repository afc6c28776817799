import { METHODS } from 'node:http'
import fc from 'fast-check'

/** A request with its raw header lines, in order, with repeated names. */
export interface HostileRequest {
  readonly method: string
  readonly target: string
  readonly lines: readonly (readonly [name: string, value: string])[]
  /** The client, of {@link CLIENTS}. */
  readonly client: number
  /** The time since the previous request. */
  readonly afterMs: number
}

/** Client addresses from a connection or a proxy, and the expected keys. */
export const CLIENTS: readonly (readonly [address: string, key: string])[] = [
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.8', '203.0.113.8'],
  ['::FFFF:cb00:7109', '203.0.113.9'],
  ['2001:db8:1:2ff::1', '2001:db8:1:200:0:0:0:0/56'],
  ['2001:0DB8:1:200:ffff::7', '2001:db8:1:200:0:0:0:0/56'],
  ['::1', '0:0:0:0:0:0:0:0/56'],
]

/** Header values that Node accepts: bytes above space, with inner spaces. */
const byte = fc.integer({ min: 0x21, max: 0xff }).filter((code) => code !== 0x7f)
const anyBytes = fc
  .array(fc.oneof({ weight: 9, arbitrary: byte }, { weight: 1, arbitrary: fc.constantFrom(0x20, 0x09) }), {
    maxLength: 40,
  })
  .map((codes) => String.fromCharCode(...codes).trim())

const nasty = fc.constantFrom(
  '',
  ',',
  ';',
  '"',
  '__proto__',
  'constructor',
  'NaN',
  '-1',
  '0',
  '1e9',
  '0x10',
  '007',
  '999999999999999',
  '9999999999999999',
  '5, 5',
  '203.0.113.7',
  '127.0.0.1, 203.0.113.8',
  '::1%eth0',
  '[::1]:80',
  'for="[::1]:80";proto=http',
  'for=203.0.113.9;by="',
  'unknown',
  'sid=a; sid=b; =; ;sid',
  'a'.repeat(5_000),
  `${'1.1.1.1,'.repeat(500)}`,
  '('.repeat(300),
)

const value = fc.oneof(nasty, anyBytes)

const headerName = fc.oneof(
  fc.constantFrom(
    ...['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP'],
    ...['X-Api-Key', 'Cookie', 'X-Weight', 'Authorization', 'Range', 'If-None-Match', 'RateLimit', 'Retry-After'],
    ...['X-Weight', 'X-Weight', 'X-Api-Key', '__proto__', 'constructor', 'toString'],
  ),
  fc.string({ unit: fc.constantFrom(...'abcXYZ019-_.!#$%&*+^`|~'), minLength: 1, maxLength: 20 }),
)

const anyTarget = fc
  .array(
    byte.filter((code) => code < 0x7f),
    { maxLength: 40 },
  )
  .map((codes) => `/${String.fromCharCode(...codes)}`)

const target = fc.oneof(
  anyTarget,
  fc.constantFrom(
    ...['/', '/?', '//', '/#', '/?weight=5', '/?weight=5&weight=6', '/?weight[]=5', '/?__proto__=1', '/?q=%', '/%zz'],
    ...['/../../etc/passwd', '/%2e%2e/', '/%00', '//evil.example/x', '/\\evil', 'http://evil.example/x', '*', '/;a=b'],
    `/${'a/'.repeat(500)}`,
    `/?${'q=1&'.repeat(500)}`,
  ),
)

// CONNECT and upgrades never reach a handler.
const method = fc.oneof(fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS'), fc.constantFrom(...METHODS))

export const hostileRequest: fc.Arbitrary<HostileRequest> = fc.record({
  method: method.filter((each) => each !== 'CONNECT'),
  target,
  lines: fc.array(fc.tuple(headerName, value), { maxLength: 8 }),
  client: fc.nat({ max: CLIENTS.length - 1 }),
  afterMs: fc.constantFrom(0, 0, 0, 1, 333, 10_000, -5_000),
})
