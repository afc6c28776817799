import { formatValue, QuotaError } from '../errors.ts'
import { mask, parseAddress } from './address.ts'

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
