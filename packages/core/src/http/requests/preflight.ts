import type { RequestReader } from './reader.ts'

/** Whether a request is a CORS preflight: browsers send it without a body. */
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
