// The headers of the newest draft, among those of other limiters on the same request.

/** A header to set on a response. */
export type Header = readonly [name: string, value: string]

/**
 * Whether a field is a list that others may be added to: draft 7 has a dictionary in RateLimit, which can report only one
 * policy.
 */
export const isList = (name: string, value: string): boolean =>
  name === 'RateLimit-Policy' || (name === 'RateLimit' && value.startsWith('"'))

/** The headers to set: the lists of another limiter (`limited`), which `read` finds on `response`, come first. */
export const plainJoin = <T = undefined>(
  headers: readonly Header[],
  limited: boolean,
  read: (name: string, response: T) => unknown,
  response?: T,
): readonly Header[] =>
  headers.map(([name, value]) => {
    const before = limited && name !== 'Retry-After' ? read(name, response as T) : undefined
    return [name, before && isList(name, String(before)) ? `${before}, ${value}` : value]
  })

/** The headers that a response lacks that another server has made. */
export const plainMissing = (
  headers: readonly Header[],
  limited: boolean,
  read: (name: string) => unknown,
): readonly Header[] =>
  headers.filter(([name, value]) => {
    const found = read(name)
    if (!found || !limited) return found !== value
    return isList(name, String(found)) && !`, ${found}, `.includes(`, ${value}, `)
  })
