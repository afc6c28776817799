import { invalidOption, QuotaError } from '../../common/errors.ts'
import { hexDigit } from '../../common/hex-digit.ts'

/** How IPv4 is mapped into IPv6 by servers that listen to both. */
const MAPPED = '::ffff:'

/** The key of an address, grouped by its first `ipv6Prefix` bits: see `ipKey`. Both are valid. */
export function addressKey(address: string | undefined, ipv6Prefix: number): string {
  if (!address?.includes(':')) return address ?? ''
  const isMapped = address.startsWith(MAPPED) && parseIPv4(address, MAPPED.length, address.length) !== undefined
  if (isMapped) return address.slice(MAPPED.length)
  const groups = parseIPv6(address)
  if (groups === undefined) return address
  const [a, b, c, d, e, f, g, h] = groups
  if ((a | b | c | d | e) === 0 ? f === 0xffff : isTranslated(groups))
    return `${g >> 8}.${g & 0xff}.${h >> 8}.${h & 0xff}`
  let network = hex(a & mask(ipv6Prefix))
  let kept = 1
  for (; 16 * kept < ipv6Prefix; kept++) network += `:${hex((groups[kept] as number) & mask(ipv6Prefix - 16 * kept))}`
  return `${network}${':0'.repeat(8 - kept)}/${ipv6Prefix}`
}

/** Whether an address is IPv4 as translators write it for networks that have IPv6 only (RFC 6052). */
const isTranslated = ([a, b, c, d, e, f]: Groups): boolean => a === 0x64 && b === 0xff9b && (c | d | e | f) === 0

const hex = (group: number): string => (group === 0 ? '0' : group.toString(16))

export function checkPrefix(ipv6Prefix: number, least: number): void {
  if (Number.isInteger(ipv6Prefix) && ipv6Prefix >= least && ipv6Prefix <= 128) return
  throw invalidOption(`ipv6Prefix must be ${least} to 128 bits`, ipv6Prefix)
}

/** The mask of the upper `bits` of a 16-bit group. */
const mask = (bits: number): number => (bits >= 16 ? 0xffff : bits <= 0 ? 0 : (0xffff << (16 - bits)) & 0xffff)

/** The eight 16-bit groups of an IPv6 address. */
type Groups = [number, number, number, number, number, number, number, number]

/** The groups of an IPv4 or IPv6 address, IPv4 as mapped into IPv6; undefined if it is invalid. */
export function parseAddress(address: string): Groups | undefined {
  if (address.includes(':')) return parseIPv6(address)
  const bits = parseIPv4(address, 0, address.length)
  return bits === undefined ? undefined : [0, 0, 0, 0, 0, 0xffff, bits >>> 16, bits & 0xffff]
}

/** Whether a text is an IPv4 or IPv6 address, with or without zone. A port or brackets are no part of an address. */
export const isAddress = (text: string): boolean =>
  (text.includes(':') ? parseIPv6(text) : parseIPv4(text, 0, text.length)) !== undefined

const DOT = 46
const COLON = 58

/**
 * The groups of an IPv6 address, with or without zone and embedded IPv4; undefined if it is invalid. It is parsed by
 * character: each request of an IPv6 client needs it, and texts of its groups take several times as long.
 */
function parseIPv6(address: string): Groups | undefined {
  const zone = address.indexOf('%')
  const end = zone < 0 ? address.length : zone
  const groups: Groups = [0, 0, 0, 0, 0, 0, 0, 0]
  const gap = address.indexOf('::')
  if (gap < 0 || gap >= end) return appendGroups(groups, 0, address, 0, end) === 8 ? groups : undefined
  const before = gap === 0 ? 0 : appendGroups(groups, 0, address, 0, gap)
  const count = gap + 2 === end ? before : appendGroups(groups, before, address, gap + 2, end)
  if (count > 7) return undefined
  // The groups after `::` are the last ones.
  for (let from = count - 1, to = 7; from >= before; from--, to--) {
    groups[to] = groups[from] as number
    groups[from] = 0
  }
  return groups
}

/** The number of groups in a text that has none, or too many. */
const INVALID = 9

/** Appends the groups between two positions to the first `count`. Returns how many there are then, or `INVALID`. */
function appendGroups(groups: Groups, count: number, address: string, from: number, end: number): number {
  let start = from
  for (let length = count; length < 8; length++) {
    let at = start
    let group = 0
    for (let digit = hexDigit(address, at); digit >= 0; digit = hexDigit(address, ++at)) group = (group << 4) | digit
    if (address.charCodeAt(at) === DOT) return appendIPv4(groups, length, address, start, end)
    if (at === start || at > start + 4) return INVALID
    groups[length] = group
    if (at === end) return length + 1
    if (address.charCodeAt(at) !== COLON) return INVALID
    start = at + 1
  }
  return INVALID
}

/** The same of an IPv4 address, which can only be at the end of an IPv6 address. */
function appendIPv4(groups: Groups, count: number, address: string, start: number, end: number): number {
  const isLast = address.charCodeAt(end) !== COLON
  const bits = isLast ? parseIPv4(address, start, end) : undefined
  if (bits === undefined) return INVALID
  groups[count] = bits >>> 16
  groups[count + 1] = bits & 0xffff
  return count + 2
}

/** The 32 bits of the dotted IPv4 address from `start` to `end`; undefined if it is invalid. */
function parseIPv4(address: string, start: number, end: number): number | undefined {
  let bits = 0
  let dots = 0
  let byte = 0
  let digits = 0
  for (let at = start; at < end; at++) {
    const code = address.charCodeAt(at)
    if (code === DOT && digits > 0) {
      bits = bits * 256 + byte
      byte = digits = 0
      dots++
      continue
    }
    // A number with a leading 0 would be octal.
    if (code < 48 || code > 57 || (digits > 0 && byte === 0)) return undefined
    byte = byte * 10 + code - 48
    digits++
    if (byte > 255) return undefined
  }
  return dots === 3 && digits > 0 ? bits * 256 + byte : undefined
}

/** The first `bits` of an address, which all addresses of a network share. */
interface Network {
  readonly groups: Groups
  readonly bits: number
}

/**
 * Builds the test whether an address is in the list or in one of its networks. An invalid address is in none. A translated
 * address is in the networks that contain it as it is written, or its IPv4 address: networks are not translated, because
 * `64:ff9b::/96` would then have all IPv4 addresses. Throws a QuotaError, which names the option `what`, for an invalid entry.
 */
export function within(what: string, cidrs: readonly unknown[]): (address: string | undefined) => boolean {
  const networks = cidrs.map((cidr) => networkOf(what, cidr))
  return (address) => {
    const groups = address === undefined ? undefined : parseAddress(address)
    if (groups === undefined) return false
    const mapped: Groups | undefined = isTranslated(groups) ? [0, 0, 0, 0, 0, 0xffff, groups[6], groups[7]] : undefined
    return networks.some((network) => contains(network, groups) || (mapped !== undefined && contains(network, mapped)))
  }
}

/**
 * Returns a function that reports whether an address is one of these, or in one of these networks, as `ip` of `match` and `skip`
 * does: `inNetworks(['10.0.0.0/8', '2001:db8::7'])`. What is no address is in none. Throws a `QuotaError` for an invalid entry,
 * and for an empty list, as `match` and `skip` do.
 */
export function inNetworks(networks: string | readonly string[]): (address: string | undefined) => boolean {
  const listed: readonly unknown[] = Array.isArray(networks) ? networks : [networks]
  if (listed.length > 0) return within('inNetworks', Array.from(listed))
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    'inNetworks lists no address and no network, so no address would be in it. List one, or leave the test out if the list is empty.',
  )
}

/** IPv4 is compared as mapped into IPv6, on both sides. */
function contains({ groups, bits }: Network, address: Groups): boolean {
  return groups.every((group, i) => ((group ^ (address[i] as number)) & mask(bits - 16 * i)) === 0)
}

function networkOf(what: string, cidr: unknown): Network {
  const [address = '', prefix, ...rest] = typeof cidr === 'string' ? cidr.split('/') : []
  const groups = address.includes('%') ? undefined : parseAddress(address)
  const width = address.includes(':') ? 128 : 32
  const bits = prefix === undefined ? width : /^(0|[1-9]\d{0,2})$/.test(prefix) ? Number(prefix) : 129
  if (groups !== undefined && bits <= width && rest.length === 0) return { groups, bits: bits + 128 - width }
  throw invalidOption(`${what} lists addresses and networks such as '10.0.0.0/8' or '::1'`, cidr)
}
