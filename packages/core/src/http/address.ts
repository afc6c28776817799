import { formatValue, QuotaError } from '../errors.ts'

/** The key of an address, grouped by its first `ipv6Prefix` bits: see `ipKey`. Both are valid. */
export function addressKey(address: string | undefined, ipv6Prefix: number): string {
  if (!address?.includes(':')) return address ?? ''
  const groups = parseIPv6(address)
  if (groups === undefined) return address
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (mapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.')
  const network = groups.map((group, i) => group & mask(ipv6Prefix - 16 * i))
  return `${network.map((group) => group.toString(16)).join(':')}/${ipv6Prefix}`
}

export function checkPrefix(ipv6Prefix: number, least: number): void {
  if (Number.isInteger(ipv6Prefix) && ipv6Prefix >= least && ipv6Prefix <= 128) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `ipv6Prefix must be ${least} to 128 bits; got ${formatValue(ipv6Prefix)}.`,
  )
}

/** The mask of the upper `bits` of a 16-bit group. */
const mask = (bits: number): number => (bits >= 16 ? 0xffff : bits <= 0 ? 0 : (0xffff << (16 - bits)) & 0xffff)

/** The eight 16-bit groups of an IPv4 or IPv6 address, IPv4 as mapped into IPv6; undefined if it is invalid. */
export function parseAddress(address: string): readonly number[] | undefined {
  if (address.includes(':')) return parseIPv6(address)
  const bytes = parseIPv4(address)
  if (bytes === undefined) return undefined
  const [a, b, c, d] = bytes as [number, number, number, number]
  return [0, 0, 0, 0, 0, 0xffff, (a << 8) | b, (c << 8) | d]
}

/** The eight 16-bit groups of an IPv6 address, with or without zone and embedded IPv4; undefined if it is invalid. */
function parseIPv6(address: string): readonly number[] | undefined {
  const [text = ''] = address.split('%', 1)
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map(parseGroups)
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined
  const missing = 8 - head.length - (tail?.length ?? 0)
  if (halves.length === 1) return missing === 0 ? head : undefined
  return missing >= 1 ? [...head, ...Array<number>(missing).fill(0), ...(tail ?? [])] : undefined
}

function parseGroups(text: string, half: number, halves: readonly string[]): number[] | undefined {
  if (text === '') return halves.length === 2 ? [] : undefined
  const groups: number[] = []
  const parts = text.split(':')
  for (const [i, part] of parts.entries()) {
    const last = i === parts.length - 1 && half === halves.length - 1
    if (last && part.includes('.')) {
      const bytes = parseIPv4(part)
      if (bytes === undefined) return undefined
      const [a, b, c, d] = bytes as [number, number, number, number]
      groups.push((a << 8) | b, (c << 8) | d)
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16))
    } else {
      return undefined
    }
  }
  return groups
}

/** The four bytes of a dotted IPv4 address; undefined if it is invalid. */
function parseIPv4(address: string): readonly number[] | undefined {
  const parts = address.split('.')
  const bytes = parts.map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256))
  return parts.length === 4 && bytes.every((byte) => byte < 256) ? bytes : undefined
}

/** The first `bits` of an address, which all addresses of a network share. */
interface Network {
  readonly groups: readonly number[]
  readonly bits: number
}

/**
 * Builds the test whether an address is in the list or in one of its networks. An invalid address is in none. Throws a
 * QuotaError, which names the option `what`, for an invalid entry.
 */
export function within(what: string, cidrs: readonly unknown[]): (address: string | undefined) => boolean {
  const networks = cidrs.map((cidr) => networkOf(what, cidr))
  return (address) => {
    const groups = address === undefined ? undefined : parseAddress(address)
    return groups !== undefined && networks.some((network) => contains(network, groups))
  }
}

/** IPv4 is compared as mapped into IPv6, on both sides. */
function contains({ groups, bits }: Network, address: readonly number[]): boolean {
  return groups.every((group, i) => ((group ^ (address[i] as number)) & mask(bits - 16 * i)) === 0)
}

function networkOf(what: string, cidr: unknown): Network {
  const [address = '', prefix, ...rest] = typeof cidr === 'string' ? cidr.split('/') : []
  const groups = address.includes('%') ? undefined : parseAddress(address)
  const width = address.includes(':') ? 128 : 32
  const bits = prefix === undefined ? width : /^(0|[1-9]\d{0,2})$/.test(prefix) ? Number(prefix) : 129
  if (groups !== undefined && bits <= width && rest.length === 0) return { groups, bits: bits + 128 - width }
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what} lists addresses and networks such as '10.0.0.0/8' or '::1'; got ${formatValue(cidr)}.`,
  )
}
