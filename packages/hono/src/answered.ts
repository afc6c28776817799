import { type Denial, isCookie } from '@spillway/core/http'
import type { Context } from 'hono'
import { denied } from './middleware.ts'
import { replaceResponse } from './response.ts'

/** The response that `onDenied` has sent itself, with the headers added; otherwise the answer that it returned. */
export function answered(c: Context, own: Denial | undefined, standard: Denial, restoreHeaders: () => void): Response {
  if (own?.response) replaceResponse(c, own.response as Response)
  else if (own || !c.finalized) {
    for (const [name, value] of own?.headers ?? []) c.header(name, value, { append: isCookie(name) })
    return denied(c, own ?? standard)
  }
  restoreHeaders()
  return c.res
}
