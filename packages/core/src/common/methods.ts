import { formatValue, QuotaError } from './errors.ts'

/** The methods that Node.js accepts: it answers requests with others by 400. */
export const METHODS: readonly string[] =
  /* @__PURE__ */ 'ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE'.split(
    ' ',
  )

/** Returns a method in capitals. Throws a QuotaError if it is unknown; `what` names the option in the error. */
export function checkMethod(
  what: string,
  method: string,
  hintFor: (name: string, known: readonly string[]) => string | undefined = () => undefined,
): string {
  const name = method.toUpperCase()
  if (METHODS.includes(name)) return name
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what} knows no ${formatValue(method)}. ${hintFor(name, METHODS) ?? ''} Write a method of HTTP such as "GET"; for one of your own, match by a function: (request) => request.method === 'MINE'.`,
  )
}
