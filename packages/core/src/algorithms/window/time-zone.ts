import { invalid, type QuotaError } from '../../common/errors.ts'

const DAY_MS = 86_400_000

/** A time zone of the runtime's database. Its times are in milliseconds since 1970; local ones as if they were UTC. */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat

  /** Throws a `QuotaError` if the runtime has no such zone. */
  constructor(name: string, what: string) {
    this.#format = formatOf(name, what)
  }

  /** The local date and time, to the second. */
  localAt(ms: number): number {
    const parts: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(ms)) parts[type] = Number(value)
    const { year, month, day, hour, minute, second } = parts as Readonly<Record<(typeof FIELDS)[number], number>>
    return Date.UTC(year, month - 1, day, hour, minute, second)
  }

  /**
   * The first moment of a local date, given as its midnight: the first of two midnights if clocks are put back, and the
   * moment after a midnight that clocks skip.
   */
  startOfDay(midnight: number): number {
    const offsetAt = (ms: number): number => this.localAt(ms) - ms
    const [a, b] = [midnight - offsetAt(midnight - DAY_MS), midnight - offsetAt(midnight + DAY_MS)]
    const [first, last] = [Math.min(a, b), Math.max(a, b)]
    if (this.localAt(first) === midnight) return first
    if (this.localAt(last) === midnight) return last
    let [before, after] = [first / 1000 - 1, last / 1000]
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      if (this.localAt(middle * 1000) < midnight) before = middle
      else after = middle
    }
    return after * 1000
  }
}

const FIELDS = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const

/** Checks that the name of a time zone is text. */
export function checkZone(timeZone: unknown, what: string): string {
  if (typeof timeZone === 'string') return timeZone
  throw invalidZone(timeZone, what)
}

function formatOf(timeZone: string, what: string): Intl.DateTimeFormat {
  try {
    const fields = Object.fromEntries(FIELDS.map((field) => [field, 'numeric']))
    return new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', { ...fields, hourCycle: 'h23', timeZone })
  } catch {
    throw invalidZone(timeZone, what)
  }
}

const invalidZone = (timeZone: unknown, what: string): QuotaError =>
  invalid(
    'ERR_SPILLWAY_QUOTA',
    `${what} timeZone must be the name of a time zone, such as 'Europe/Berlin' or 'UTC'`,
    timeZone,
    "The runtime has no such zone. Intl.supportedValuesOf('timeZone') lists those it has.",
  )
