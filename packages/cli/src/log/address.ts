import { ipKey } from '@spillway/core/http'

const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
const IPV4 = new RegExp(String.raw`^${BYTE}(?:\.${BYTE}){3}$`)

/**
 * An address without the brackets and the port of the log, which differ for one client. It is not checked, as the
 * middleware does: that takes ten times as long, for each line of a load balancer's log.
 */
export const withoutPort = (text: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\][]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/.exec(text) ?? []
  return bracketed ?? plain ?? text
}

/**
 * Whether a text is an IPv4 or IPv6 address, without a port: core makes a network of an IPv6 address, and leaves other texts
 * as they are.
 */
export const isAddress = (text: string): boolean =>
  IPV4.test(text) || (text.includes(':') && withoutPort(text) === text && ipKey(text) !== text)
