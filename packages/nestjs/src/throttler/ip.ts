import { ipKey } from '@spillway/core/http'

/** The leading bits of an IPv6 address that identify one client, if the options have no `ipv6SubnetPrefix`. */
export const DEFAULT_IPV6_SUBNET_PREFIX = 64

/** An address as it identifies a client: IPv6 addresses are grouped by their leading bits. */
export const normalizeIp = (ip: string | undefined, ipv6SubnetPrefix: number = DEFAULT_IPV6_SUBNET_PREFIX): string =>
  ipKey(ip, { ipv6Prefix: ipv6SubnetPrefix })
