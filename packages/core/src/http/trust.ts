import { formatValue, QuotaError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { within } from './networks.ts'

/**
 * The proxies to trust: the number that every request passes through, 0 to 64, or their addresses and networks, such as
 * `['10.0.0.0/8', '2001:db8::7']`. `header` names the header into which they write the client's address:
 * `'x-forwarded-for'` (default), `'forwarded'` (RFC 7239), or a header that holds one address, such as
 * `'cf-connecting-ip'`. The proxy must overwrite that header, never pass it on.
 */
export type TrustProxy =
  | number
  | readonly string[]
  | { readonly hops?: number; readonly cidrs?: readonly string[]; readonly header?: string }

/** Whether an address is a trusted proxy: `hop` 0 is the peer, 1 the peer of that proxy, and so on. */
export type Trusts = (address: string | undefined, hop: number) => boolean

/** The most proxies that are followed, to bound the work that a long header causes. */
export const MOST_HOPS = 64

/** Compiles the option. Throws a QuotaError if it is invalid. `header` is returned in lower case. */
export function trustOf(trust: TrustProxy): { readonly trusts: Trusts; readonly header: string } {
  const { hops, cidrs, header = 'x-forwarded-for' } = optionsOf(trust)
  return { trusts: cidrs === undefined ? first(hops) : within('trustProxy', cidrs), header: headerName(header) }
}

const first =
  (hops: number): Trusts =>
  (_, hop) =>
    hop < hops

type Options = { readonly hops: number; readonly cidrs?: readonly string[]; readonly header?: string }

function optionsOf(trust: unknown): Options {
  if (typeof trust === 'number') return { hops: hopCount(trust) }
  if (Array.isArray(trust)) return { hops: 0, cidrs: trust }
  if (trust === null || typeof trust !== 'object') {
    const fix = trust === true ? ' true would trust any address that a client sends.' : ''
    throw invalidTrustProxy(
      `must be the number of proxies in front, a list of their addresses, or { hops | cidrs, header }; got ${formatValue(trust)}.${fix}`,
    )
  }
  checkOptions('trustProxy', trust, ['hops', 'cidrs', 'header'])
  const { hops, cidrs, ...header } = trust as Exclude<TrustProxy, number | readonly string[]>
  if ((hops === undefined) === (cidrs === undefined)) {
    throw invalidTrustProxy(
      'must have either hops, the number of proxies in front, or cidrs, a list of their addresses.',
    )
  }
  if (cidrs === undefined) return { hops: hopCount(hops), ...header }
  if (!Array.isArray(cidrs))
    throw invalidTrustProxy(`cidrs must be a list such as ['10.0.0.0/8']; got ${formatValue(cidrs)}.`)
  return { hops: 0, cidrs, ...header }
}

function hopCount(hops: unknown): number {
  if (Number.isInteger(hops) && (hops as number) >= 0 && (hops as number) <= MOST_HOPS) return hops as number
  throw invalidTrustProxy(`must have 0 to ${MOST_HOPS} hops, the number of proxies in front; got ${formatValue(hops)}.`)
}

function headerName(header: unknown): string {
  if (typeof header === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(header)) return header.toLowerCase()
  throw invalidTrustProxy(`header must be the name of a header such as 'cf-connecting-ip'; got ${formatValue(header)}.`)
}

const invalidTrustProxy = (problem: string): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', `trustProxy ${problem}`)
