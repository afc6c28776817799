/** What a handler may throw, as far as frameworks read a status in it. */
interface Thrown {
  readonly status?: unknown
  readonly statusCode?: unknown
}

/** The status that a handler has thrown, with which frameworks answer; undefined if it has none. */
export function statusOfThrown(thrown: unknown): number | undefined {
  const { status, statusCode } = Object(thrown) as Thrown
  return [status, statusCode].find(isStatus)
}

const isStatus = (status: unknown): status is number =>
  Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599
