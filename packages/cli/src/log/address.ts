/**
 * An address without the brackets and the port of the log, which differ for one client. It is not checked, as the
 * middleware does: that takes ten times as long, for each line of a load balancer's log.
 */
export function withoutPort(text: string): string {
  const colon = text.indexOf(':')
  if (colon < 0) return text
  if (text.charCodeAt(0) === BRACKET) return IN_BRACKETS.exec(text)?.[1] ?? text
  return IPV4_WITH_PORT.test(text) ? text.slice(0, colon) : text
}

const BRACKET = 91
const IN_BRACKETS = /^\[([^\][]+)\](?::\d+)?$/
const IPV4_WITH_PORT = /^\d+(?:\.\d+){3}:\d+$/
