import type { RequestReader } from './reader.ts'

/** Reports whether a request is one of those that browsers send before a request to another origin: it has no body. */
export function isPreflight<R>(reader: RequestReader<R>, request: R): boolean {
  if (reader.method(request) !== 'OPTIONS') return false
  const has = (name: string): boolean => Boolean(reader.header(request, name))
  return (
    has('origin') &&
    has('access-control-request-method') &&
    !has('transfer-encoding') &&
    (reader.header(request, 'content-length') ?? (reader.hidesBody?.(request) ? 'hidden' : '0')) === '0'
  )
}
