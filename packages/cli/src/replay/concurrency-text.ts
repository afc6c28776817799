import { columns, count, percent, plain, wrapped } from '../format.ts'
import type { Concurrency, SlotsDenied } from './flights.ts'

/** The number of keys that are shown. */
const SHOWN = 5

/** What limits the meaning of the numbers, as sentences. */
export function caveatsOf({ requests, withoutDuration, longerThanLog, isSpread, isPartial }: Concurrency): string[] {
  return [
    ...(withoutDuration > 0
      ? [
          `${count(withoutDuration)} of ${count(withoutDuration + requests)} requests have no valid duration, and are left out.`,
        ]
      : []),
    ...(longerThanLog > 0
      ? [`${count(longerThanLog)} took longer than the log is: is the unit of their durations another one?`]
      : []),
    ...(isSpread ? ['The log has whole seconds: the requests of each are taken as spread over it.'] : []),
    ...(isPartial ? [`These are the first ${count(requests)} requests with a duration.`] : []),
  ]
}

/** What a limit would have denied: `inFlight(5) would have denied 12 of 300 (4 %), from 1 key`. */
export const slotsText = ({ limit, denied, keys }: SlotsDenied, requests: number): string =>
  denied === 0
    ? `inFlight(${limit}) would have denied none`
    : `inFlight(${limit}) would have denied ${count(denied)} of ${count(requests)} (${percent(denied, requests)}), from ${count(keys)} ${keys === 1 ? 'key' : 'keys'}`

/** A mean number of requests with three digits. */
export const meanText = (mean: number): string => String(Number(mean.toPrecision(3)))

/** How many requests were in flight at once, as text. */
export function concurrencyText(concurrency: Concurrency, width: number, dim: (text: string) => string): string {
  const { keys, limits, requests } = concurrency
  const table = columns(
    ['in flight at once', 'most', 'p99', 'mean', 'requests'],
    keys
      .slice(0, SHOWN)
      .map(({ key, max, p99, mean, requests }) => [
        plain(key, 40) || '(none)',
        count(max),
        count(p99),
        meanText(mean),
        count(requests),
      ]),
    dim,
    width - 4,
  ).replace(/^/gm, '    ')
  return [
    table,
    ...limits.map((each) => `    ${slotsText(each, requests)}`),
    ...caveatsOf(concurrency).map((each) => wrapped(each, width, '    ')),
  ].join('\n')
}
