import { ipKey } from '@spillway/core/http'
import type { Request } from 'express'

/** A client's address as Express has it, or as the connection of a server without Express has it. */
export const addressOf = ({ ip, socket }: Request): string | undefined => ip ?? socket?.remoteAddress

/**
 * The key for a client's address, in the spelling of express-rate-limit: IPv4 unchanged, also if mapped into IPv6; IPv6
 * as its network, such as `2001:db8::/56`, or unchanged if `ipv6Subnet` is false or 0. Anything else is returned as it is.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = 56): string {
  // In JavaScript it may be no text: a missing header, or by mistake a whole request.
  if (typeof ip !== 'string' || !ip.includes(':')) return ip
  const [, compatible] = /^::(\d+\.\d+\.\d+\.\d+)$/.exec(ip) ?? []
  const key = compatible ?? ipKey(ip, { ipv6Prefix: ipv6Subnet || 128 })
  const slash = key.indexOf('/')
  if (slash < 0) return key
  return ipv6Subnet ? `${compressed(key.slice(0, slash))}${key.slice(slash)}` : ip
}

/** Eight groups without the longest run of zeros, the first of several (RFC 5952). */
function compressed(groups: string): string {
  const runs = groups.match(/\b0(?::0)+\b/g) ?? []
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a), '')
  if (longest === '') return groups
  const at = groups.search(new RegExp(`\\b${longest}\\b`))
  return `${groups.slice(0, at).replace(/:$/, '')}::${groups.slice(at + longest.length).replace(/^:/, '')}`
}
