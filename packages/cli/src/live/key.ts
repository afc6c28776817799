import { isIP, isIPv6 } from 'node:net'
import { type KeySelector, keyReader, RequestParts, type RequestReader, type RequestSources } from '@spillway/core/http'
import type { RulePolicy } from '@spillway/core/rules'
import { UserError } from '../io.ts'
import { withoutPort } from '../log/address.ts'

/** A request whose every part is what the user has typed. */
type Parts = ReadonlyMap<string, string>

/** The key that the middleware makes of a request with these parts; undefined if the part for an address is none. */
export function keyFrom(key: RulePolicy['key'], parts: readonly string[], ipv6Prefix: number): string | undefined {
  const selectors = [key].flat()
  const typed = new Map<string, string>()
  for (const [i, selector] of selectors.entries()) {
    const part = parts[i] as string
    const name = selector.startsWith('header:') ? selector.toLowerCase() : selector
    const value = selector === 'ip' ? addressOf(part, ipv6Prefix) : part
    if (selector === 'ip' && isIP(value) === 0) return undefined
    typed.set(name, value)
  }
  return keyReader(key, sourcesFor(selectors, ipv6Prefix))(new RequestParts(typed)) as string
}

/** An address as people paste it: with brackets, port or zone, or as a network in a report. */
function addressOf(text: string, ipv6Prefix: number): string {
  const [, network = '', bits] = /^(.*)\/(\d+)$/.exec(text) ?? []
  if (bits === undefined || !isIPv6(network)) return withoutPort(text)
  if (Number(bits) === ipv6Prefix) return network
  throw new UserError(
    `clients are counted by /${ipv6Prefix}, not by ${text}: --ipv6-prefix ${bits} if that is the ipv6Prefix of your middleware.`,
  )
}

const cookieOf = (typed: Parts): string =>
  [...typed]
    .filter(([selector]) => selector.startsWith('cookie:'))
    .map(([selector, part]) => `${selector.slice('cookie:'.length)}=${part}`)
    .join('; ')

const reader: RequestReader<Parts> = {
  address: (typed) => typed.get('ip'),
  peer: (typed) => typed.get('ip'),
  method: (typed) => (typed.get('method') ?? '').toUpperCase(),
  path: (typed) => typed.get('path') ?? '',
  header: (typed, name) => (name === 'cookie' ? cookieOf(typed) : typed.get(`header:${name}`)),
  query: (typed) => Object.fromEntries([...typed].map(([selector, part]) => [selector.replace(/^query:/, ''), part])),
  onClientClosed: () => () => {},
}

function sourcesFor(selectors: readonly KeySelector[], ipv6Prefix: number): RequestSources<Parts> {
  const names = selectors.filter((each) => each.startsWith('claim:')).map((each) => each.slice('claim:'.length))
  const claims = (typed: Parts) => Object.fromEntries(names.map((name) => [name, typed.get(`claim:${name}`)]))
  return {
    reader,
    address: reader.address,
    claims,
    parameters: new Set(),
    cookies: new Set(),
    ipv6Prefix,
    logger: console,
  }
}
