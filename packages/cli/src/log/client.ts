import { isAddress } from '@spillway/core/http'
import { withoutPort } from './address.ts'

/** The client that a line begins with, and how many fields precede the authenticated user. */
export interface Client {
  /** Undefined if the log has none. */
  readonly address: string | undefined
  readonly fieldsBeforeUser: number
}

const isAddressWithPort = (text: string): boolean => isAddress(withoutPort(text))
const hasPort = (text: string): boolean => /^(\[.*\]|[^:]*):\d+$/.test(text)
const isHostname = (text: string): boolean => /^[\w.-]+$/.test(text) && text !== '-'

/** What a line begins with: the client, or the virtual host in front of it. */
export type First = 'client' | 'host'

const AMBIGUOUS = 'it begins with two fields that may be the client'

/** The client of the usual line: an address and no ident, before the user, which ends at `headEnd`. */
export function usualClient(line: string, headEnd: number): string | undefined {
  const end = line.indexOf(' ')
  if (end + 3 > headEnd || !line.startsWith(' - ', end)) return undefined
  const first = line.slice(0, end)
  return isAddress(first) ? first : undefined
}

/**
 * Finds the client in front of the time of a common log: `client ident user`, or with a virtual host, as in Apache's
 * `vhost_combined`, `host:port client ident user`. Returns the problem as text if the line is ambiguous
 * and `known` does not decide. It is not the usual line.
 */
export function clientIn(head: string, known?: First): Client | string {
  const [first = '', second = '', ...others] = head.split(' ')
  if (known !== undefined) return known === 'host' ? vhost(second) : clientAlone(first)
  if (isAddressWithPort(second)) return isHost(first) ? vhost(second) : AMBIGUOUS
  if (others.length < 2) return clientAlone(first)
  // Four fields: a host and its client, or a client whose user has spaces.
  if (hasPort(first) && !isAddressWithPort(first)) return vhost(second)
  const spaced = second === '-' && head !== `${first} - - -`
  return spaced || !isHost(first) ? clientAlone(first) : AMBIGUOUS
}

const isHost = (text: string): boolean => hasPort(text) || (isHostname(text) && !isAddressWithPort(text))

const vhost = (client: string): Client => ({
  address: client === '-' ? undefined : withoutPort(client),
  fieldsBeforeUser: 3,
})

function clientAlone(first: string): Client | string {
  if (first === '-' || first === 'unix:') return { address: undefined, fieldsBeforeUser: 2 }
  if (isAddressWithPort(first) || isHostname(first)) return { address: withoutPort(first), fieldsBeforeUser: 2 }
  return 'it begins with neither an address nor a hostname'
}
