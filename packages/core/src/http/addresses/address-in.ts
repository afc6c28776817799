import { parseAddress } from './address.ts'

/** Longer than any address with brackets, zone and port. */
const LONGEST_ENTRY = 128

/** The address in an entry, without quotes, port and zone; undefined if there is none. */
export function addressIn(entry: string): string | undefined {
  if (entry.length > LONGEST_ENTRY) return undefined
  const text = entry.trim().replace(/^"([^"]*)"$/, '$1')
  const [, bracketed, host = text] = /^(?:\[([^\][]*)\]|([^:]*))(?::[\w.-]+)?$/.exec(text) ?? []
  // Only IPv6 addresses stand in brackets.
  const address = bracketed?.includes(':') === false ? text : (bracketed ?? host)
  if (parseAddress(address) === undefined) return undefined
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}

/** The address without its port, which differs per connection: some proxies append it, and frameworks keep it. */
export const withoutPort = (address: string): string =>
  address.includes(':') && /^\[|^[\d.]+:\d+$/.test(address) ? (addressIn(address) ?? address) : address
