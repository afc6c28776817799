import { QuotaError, shown } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { within } from './networks.ts'

/**
 * Which proxies are ours, and hence whose word counts: how many of them every request has come through, or their
 * addresses and networks, such as `['10.0.0.0/8', '2001:db8::7']`. `header` names what they write the client's address
 * into: `'x-forwarded-for'` unless given, `'forwarded'` (RFC 7239), or a header that holds the one address, such as
 * `'cf-connecting-ip'`, which must be overwritten by the proxy, never passed on.
 */
export type TrustProxy =
  | number
  | readonly string[]
  | { readonly hops?: number; readonly cidrs?: readonly string[]; readonly header?: string }

/** Whether the sender of a request is a proxy of ours: `hop` 0 is the peer, 1 who it heard from, and so on. */
export type Trusts = (address: string | undefined, hop: number) => boolean

/** The most proxies a request is followed back through: no header makes more work than that. */
export const MOST_HOPS = 64

/** Compiles the option; throws a QuotaError if it is none. `header` comes in lower case. */
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
    const fix = trust === true ? ' true would believe whatever a client writes.' : ''
    throw refusal(
      `must be the number of proxies in front, a list of their addresses, or { hops | cidrs, header }; got ${shown(trust)}.${fix}`,
    )
  }
  checkOptions('trustProxy', trust, ['hops', 'cidrs', 'header'])
  const { hops, cidrs, ...header } = trust as Exclude<TrustProxy, number | readonly string[]>
  if ((hops === undefined) === (cidrs === undefined)) {
    throw refusal('takes either hops, the number of proxies in front, or cidrs, a list of their addresses.')
  }
  if (cidrs === undefined) return { hops: hopCount(hops), ...header }
  if (!Array.isArray(cidrs)) throw refusal(`cidrs must be a list such as ['10.0.0.0/8']; got ${shown(cidrs)}.`)
  return { hops: 0, cidrs, ...header }
}

function hopCount(hops: unknown): number {
  if (Number.isInteger(hops) && (hops as number) >= 0 && (hops as number) <= MOST_HOPS) return hops as number
  throw refusal(`takes 0 to ${MOST_HOPS} hops, the proxies every request comes through; got ${shown(hops)}.`)
}

function headerName(header: unknown): string {
  if (typeof header === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(header)) return header.toLowerCase()
  throw refusal(`header must be the name of a header such as 'cf-connecting-ip'; got ${shown(header)}.`)
}

const refusal = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', `trustProxy ${problem}`)
