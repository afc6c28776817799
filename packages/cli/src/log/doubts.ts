import { count, percent, span } from '../format.ts'
import { type Reading, TOLERATED_LATENESS } from './read.ts'

/** The criteria for a reading. */
export interface DoubtOptions {
  /** The fraction of lines that may be unreadable, and of requests that may be out of order. */
  readonly most: number
  /** Whether clients are identified by their addresses. */
  readonly byAddress: boolean
}

/** The reasons why the requests that were read do not represent the traffic. A result for them would be misleading. */
export function doubtsIn(reading: Reading, { most, byAddress }: DoubtOptions): readonly string[] {
  const { lines, entries, bad, skipped, late, broken, unreadable, withoutAddress } = reading
  const doubts = [...broken]
  const hint = skipped > 0 ? ': if it has requests, --field path=… names where their paths are' : ''
  if (entries === 0) doubts.push(lines === 0 ? 'the log is empty' : `no line of the log is a request${hint}`)
  else doubts.push(...unreadable.map((name) => `no line of ${name} is a request`))
  const over = (part: number, all: number): boolean => part > most * all
  if (over(bad.count, lines)) {
    const [first] = bad.first
    doubts.push(
      `${share(bad.count, lines)} lines could not be read, the first of them ${first?.file}:${first?.line}, because ${first?.reason}`,
    )
  }
  if (over(late.over, entries)) {
    doubts.push(
      `${share(late.over, entries)} requests are dated more than ${span(TOLERATED_LATENESS / 1000)} before one that comes earlier, by up to ${span(late.most / 1000)}: the log is not in the order of time`,
    )
  }
  if (byAddress && over(withoutAddress, entries)) {
    doubts.push(
      `${share(withoutAddress, entries)} requests have no client address: if the log has one, --field ip=… names where`,
    )
  }
  return doubts
}

const share = (part: number, all: number): string => `${count(part)} of ${count(all)} (${percent(part, all)})`
