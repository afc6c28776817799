import { ipKey } from '@spillway/core/http'

/**
 * The key for a client's address, as text that express-rate-limit writes too: IPv4 as it is, also where it comes inside
 * IPv6; IPv6 as its network, `2001:db8::/56`, or as it is if `ipv6Subnet` is false.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = 56): string {
  const [, compatible] = /^::(\d+\.\d+\.\d+\.\d+)$/.exec(ip) ?? []
  const key = compatible ?? ipKey(ip, { ipv6Prefix: ipv6Subnet === false ? 128 : ipv6Subnet })
  const slash = key.indexOf('/')
  if (slash < 0) return key
  return ipv6Subnet === false ? ip : `${compressed(key.slice(0, slash))}${key.slice(slash)}`
}

/** Eight groups with the longest run of zeros, the first of several, left out (RFC 5952). */
function compressed(groups: string): string {
  const runs = groups.match(/\b0(?::0)+\b/g) ?? []
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a), '')
  if (longest === '') return groups
  const at = groups.search(new RegExp(`\\b${longest}\\b`))
  return `${groups.slice(0, at).replace(/:$/, '')}::${groups.slice(at + longest.length).replace(/^:/, '')}`
}
