import { invalid } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { addressKey, checkPrefix } from './address.ts'
import { withoutPort } from './address-in.ts'

/**
 * The key that the selector `'ip'` makes of an address, for `key` functions, `peek` and `reset`. IPv4 is its own key, also if
 * it is mapped into IPv6 or translated (`64:ff9b::/96`). IPv6 addresses are grouped by their first `ipv6Prefix` bits (1 to 128,
 * default: 56), because one household or server gets a whole block of them. A port is removed. Any other text is its own key.
 * `undefined` is the empty key.
 *
 * Throws a QuotaError if the address is not text, or an option is invalid.
 */
export function ipKey(address: string | undefined, options: { readonly ipv6Prefix?: number } = {}): string {
  checkOptions('ipKey', options, ['ipv6Prefix'])
  const { ipv6Prefix = 56 } = options
  checkPrefix(ipv6Prefix, 1)
  if (address === undefined) return ''
  if (typeof address === 'string') return addressKey(withoutPort(address), ipv6Prefix)
  throw invalid('ERR_SPILLWAY_KEY', "ipKey takes an address, such as '2001:db8::1'", address)
}
