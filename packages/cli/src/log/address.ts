import { ipKey } from '@spillway/core/http'

const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
const IPV4 = new RegExp(String.raw`^${BYTE}(?:\.${BYTE}){3}$`)

/** Whether a text is an IPv4 or IPv6 address: core makes a network of an IPv6 address, and leaves other texts as they are. */
export const isAddress = (text: string): boolean => IPV4.test(text) || (text.includes(':') && ipKey(text) !== text)
