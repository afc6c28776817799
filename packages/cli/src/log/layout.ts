import { withoutPort } from './address.ts'
import type { Entry } from './entry.ts'
import { anyTimes } from './time.ts'

/**
 * The part of a request that a field of a line holds: `time`, `date`, `ip`, `request`, `method`, `path`, `query`,
 * `status`, `header:NAME`, `cookie:NAME` or `claim:user`; empty if policies read none of it.
 */
export type Part = string

/** Makes an entry of the values of a line's fields, or returns the problem as text. */
export type Layout = (values: readonly string[]) => Entry | string

/** The entries of lines whose fields are in this order. */
export function layoutOf(parts: readonly Part[]): Layout {
  const momentOf = anyTimes()
  const indexes = new Map(parts.map((part, i) => [part, i]))
  const index = (part: Part): number => indexes.get(part) ?? -1
  const [time, date, ip, request, method, path, query, status] = [
    'time',
    'date',
    'ip',
    'request',
    'method',
    'path',
    'query',
    'status',
  ].map(index) as [number, number, number, number, number, number, number, number]
  return (values) => {
    const value = (at: number): string | undefined => {
      const text = values[at]
      return text === undefined || text === '-' || text === '' ? undefined : text
    }
    const timeText = date < 0 ? value(time) : `${value(date)} ${value(time)}`
    const at = momentOf(timeText)
    if (at === undefined) return timeText === undefined ? 'it has no time' : 'its time is invalid'
    const [verb = '', url = ''] = value(request)?.split(' ') ?? []
    const address = value(ip)
    const named = (part: Part): string | undefined => value(index(part))
    const search = value(query)?.replace(/^\?/, '')
    return {
      at,
      address: address === undefined ? undefined : withoutPort(address),
      method: (value(method) ?? verb).toUpperCase(),
      target: `${originForm(value(path) ?? url)}${search === undefined ? '' : `?${search}`}`,
      status: Number(value(status)) || undefined,
      header: (name) => named(`header:${name}`) ?? (name === 'cookie' ? cookiesIn(parts, named) : undefined),
      claim: (name) => named(`claim:${name}`),
    }
  }
}

/** The path and the query of a target, which load balancers log with scheme, host and port. */
const originForm = (target: string): string => (target.startsWith('/') ? target : target.replace(/^\w+:\/\/[^/?]*/, ''))

/** The cookies that have fields of their own, as the header that they came in. */
export function cookiesIn(parts: readonly Part[], value: (part: Part) => string | undefined): string | undefined {
  const cookies = parts.flatMap((part) => {
    const text = part.startsWith('cookie:') ? value(part) : undefined
    return text === undefined ? [] : [`${part.slice('cookie:'.length)}=${text}`]
  })
  return cookies.length === 0 ? undefined : cookies.join('; ')
}
