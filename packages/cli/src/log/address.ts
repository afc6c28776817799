/**
 * An address without the brackets and the port of the log, which differ for one client. It is not checked, as the
 * middleware does: that takes ten times as long, for each line of a load balancer's log.
 */
export const withoutPort = (text: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\][]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/.exec(text) ?? []
  return bracketed ?? plain ?? text
}
