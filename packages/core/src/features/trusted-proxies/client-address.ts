import { formatValue, QuotaError } from '../../common/errors.ts'
import { guess } from '../../common/guess.ts'
import { checkNames } from '../../common/options.ts'
import { within } from '../../http/addresses/address.ts'
import { addressIn } from '../../http/addresses/address-in.ts'
import type { RequestHints } from '../../http/pipeline/request-sources.ts'

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

/** The parts of a request from which its client's address is found. */
export interface ClientReader<R> {
  /** The address of the connection's peer; undefined if there is none, as on a Unix socket. */
  peer(request: R): string | undefined
  /** A header by its name in lower case; several of one name joined by commas. */
  header(request: R, name: string): string | undefined
}

/**
 * Reads a header from its right end: `start` finds where the entry that ends at `end` starts, `address` parses an
 * entry.
 */
interface Syntax {
  readonly start: (text: string, end: number) => number
  readonly address: (entry: string) => string | undefined
}

/**
 * Compiles `trustProxy` into the function that reads a request's client address. It follows the header from its right
 * end, where each trusted proxy has appended the address of its peer, to the first address that is not a trusted proxy,
 * or to the last one. An invalid entry ends the search: the last proxy before it counts as the client. Without trust,
 * headers are ignored.
 *
 * Throws a QuotaError if `trust` is invalid.
 */
export const clientAddress = <R>(trust: TrustProxy, reader: ClientReader<R>): ((request: R) => string | undefined) =>
  addressBehind(trust, reader, guess)

/** The same. `hintFor` proposes what to write instead of an unknown option. */
export function addressBehind<R>(
  trust: TrustProxy,
  reader: ClientReader<R>,
  hintFor?: HintFor,
): (request: R) => string | undefined {
  const { trusts, header } = trustOf(trust, hintFor)
  const syntax = header === 'x-forwarded-for' ? LIST : header === 'forwarded' ? FORWARDED : SINGLE
  return (request) => walk(reader.peer(request), reader.header(request, header) ?? '', trusts, syntax)
}

function walk(peer: string | undefined, text: string, trusts: Trusts, { start, address }: Syntax): string | undefined {
  let client = peer
  for (let hop = 0, end = text.length; end >= 0 && hop < MOST_HOPS && trusts(client, hop); hop++) {
    const from = start(text, end)
    const next = address(text.slice(from, end))
    if (next === undefined) break
    client = next
    end = from - 1
  }
  return client
}

const LIST: Syntax = { start: (text, end) => text.lastIndexOf(',', end - 1) + 1, address: addressIn }
const SINGLE: Syntax = { start: () => 0, address: addressIn }
const FORWARDED: Syntax = {
  start: (text, end) => startOf(text, end, ','),
  address: (entry) => addressIn(forParameter(entry)),
}

/** The value of an element's `for`, with its quotes; empty if there is none or more than one. */
function forParameter(element: string): string {
  const values: string[] = []
  for (let end = element.length; end >= 0; ) {
    const start = startOf(element, end, ';')
    const pair = element.slice(start, end).trim()
    if (pair.slice(0, 4).toLowerCase() === 'for=') values.push(pair.slice(4))
    end = start - 1
  }
  return values.length === 1 ? (values[0] as string) : ''
}

/**
 * The start of the part that ends at `end`: right of the nearest separator outside quotes. Read from the right, because
 * a quote that a client leaves open would otherwise hide the entries that trusted proxies appended.
 */
function startOf(text: string, end: number, separator: ',' | ';'): number {
  let quoted = false
  for (let i = end - 1; i >= 0; i--) {
    const character = text.charAt(i)
    if (character === '"' && !isEscaped(text, i)) quoted = !quoted
    else if (character === separator && !quoted) return i + 1
  }
  return 0
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charAt(at - 1 - slashes) === '\\') slashes++
  return slashes % 2 === 1
}

/** Whether an address is a trusted proxy: `hop` 0 is the peer, 1 the peer of that proxy, and so on. */
type Trusts = (address: string | undefined, hop: number) => boolean

/** The most proxies that are followed, to bound the work that a long header causes. */
const MOST_HOPS = 64

/** Compiles the option. Throws a QuotaError if it is invalid. `header` is returned in lower case. */
export function trustOf(trust: TrustProxy, hintFor?: HintFor): { readonly trusts: Trusts; readonly header: string } {
  const { hops, cidrs, header = 'x-forwarded-for' } = optionsOf(trust, hintFor)
  return { trusts: cidrs === undefined ? firstHops(hops) : within('trustProxy', cidrs), header: headerName(header) }
}

const firstHops =
  (hops: number): Trusts =>
  (_, hop) =>
    hop < hops

type TrustOptions = { readonly hops: number; readonly cidrs?: readonly string[]; readonly header?: string }

type HintFor = RequestHints['name']

const OPTIONS = ['hops', 'cidrs', 'header'] as const

function optionsOf(trust: unknown, hintFor?: HintFor): TrustOptions {
  if (typeof trust === 'number') return { hops: hopCount(trust) }
  if (Array.isArray(trust)) return { hops: 0, cidrs: trust }
  if (trust === null || typeof trust !== 'object') {
    const fix = trust === true ? ' true would trust any address that a client sends.' : ''
    throw invalidTrustProxy(
      `must be the number of proxies in front, a list of their addresses, or { hops | cidrs, header }; got ${formatValue(trust)}.${fix}`,
    )
  }
  checkNames('trustProxy', trust, OPTIONS, (name) => hintFor?.(name, OPTIONS))
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
