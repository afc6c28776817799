import type { Header } from './headers.ts'

// The headers of the newest draft, among those of other limiters on the same request.

/** Reads a header of the response. */
type Read = (name: string) => unknown

/** The headers to set: the lists of another limiter (`limited`) come first. */
export const plainJoin = (headers: readonly Header[], limited: boolean, read: Read): readonly Header[] =>
  headers.map(([name, value]) => {
    const before = limited && name !== 'Retry-After' ? read(name) : undefined
    return [name, before ? `${before}, ${value}` : value]
  })

/** The headers that a response lacks that another server has made. */
export const plainMissing = (headers: readonly Header[], limited: boolean, read: Read): readonly Header[] =>
  headers.filter(([name, value]) => {
    const found = read(name)
    return !found || !(limited ? `, ${found}, `.includes(`, ${value}, `) : found === value)
  })
