/**
 * A call was not sent: most calls to its service have failed in the last 30 seconds, and only some are sent to find out whether it is
 * well again.
 */
export class ServiceDownError extends Error {
  /** The name of the class. */
  override readonly name = 'ServiceDownError'
  /** Always `ERR_SPILLWAY_SERVICE_DOWN`. */
  readonly code = 'ERR_SPILLWAY_SERVICE_DOWN'
  /** The key of the service. */
  readonly key: string
  /** The share of calls that are not sent now, 0 to 1. */
  readonly dropped: number

  constructor(key: string, dropped: number) {
    super(`not sent: most calls to ${JSON.stringify(key)} have failed in the last 30 s.`)
    this.key = key
    this.dropped = dropped
  }
}
