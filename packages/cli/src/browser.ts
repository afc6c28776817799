import { type Micros, tokenBucket } from '@spillway/core'
import { blobSource, type LogFile } from './log/blob.ts'
import { doubtsIn } from './log/doubts.ts'
import { readLogs } from './log/read.ts'
import { sum, Timeline } from './replay/timeline.ts'
import { selectedBy, suggestionsFor } from './suggest/selected.ts'
import { Spool } from './suggest/spool.ts'
import {
  type Denied,
  lowestLimit,
  PERIODS,
  type Period,
  quotaPer,
  replayOn,
  type Suggestion,
} from './suggest/tightest.ts'

export type { LogFile } from './log/blob.ts'
export type { Denied, Period, Suggestion } from './suggest/tightest.ts'

/** Options of `readAccessLogs`. */
export interface AccessLogOptions {
  /**
   * The selector of the key, such as `ip`, `header:x-api-key` or `claim:user`.
   * @default `'ip'`
   */
  readonly key?: string
  /**
   * Called at intervals with the share of the bytes that was read, 0 to 1.
   * @default none
   */
  readonly onProgress?: (share: number) => void
}

/** The requests of access logs, on which quotas can be tried. */
export interface AccessLogs {
  readonly requests: number
  readonly lines: number
  /** The number of lines that could not be read. */
  readonly badLines: number
  /** The number of requests of each format. */
  readonly formats: Readonly<Record<string, number>>
  /** The times of the first and the last request, in milliseconds since 1970; undefined without requests. */
  readonly fromMs: number | undefined
  readonly toMs: number | undefined
  readonly keys: number
  /** The number of requests without a key, which count as one client. */
  readonly keyless: number
  /** The reasons why the requests do not represent the traffic; empty if they do. */
  readonly doubts: readonly string[]
  /** The tightest quotas per second, minute, hour and day that deny at most this share of the requests, 0 to 1. */
  suggest(share: number): readonly Suggestion[]
  /** The lowest limit that denies nothing. */
  enough(per: Period): number
  /** The requests that a token bucket of `limit` units per period denies. */
  tryLimit(per: Period, limit: number): LimitResult
}

/** The result of a limit that was tried. */
export interface LimitResult extends Denied {
  /** The keys that are denied most, at most 20. */
  readonly deniedKeys: readonly DeniedKey[]
  /** The requests in consecutive intervals of equal length. */
  readonly timeline: {
    readonly startMs: number
    readonly widthMs: number
    readonly allowed: readonly number[]
    readonly denied: readonly number[]
  }
}

/** A key with denied requests. */
export interface DeniedKey {
  readonly key: string
  readonly requests: number
  readonly denied: number
}

/** The share of lines that may be unreadable, as for `--unreadable-at-most`. */
const UNREADABLE = 0.01
/** The most keys in a result, and the most intervals. */
const SHOWN_KEYS = 20
const INTERVALS = 120

/** Reads access logs, plain or gzip, as the program `spillway` does. Throws an Error if one cannot be read. */
export async function readAccessLogs(files: readonly LogFile[], options: AccessLogOptions = {}): Promise<AccessLogs> {
  const { key = 'ip', onProgress } = options
  const selected = selectedBy(key, new Spool(), {})
  const sources = files.map(blobSource)
  const size = files.reduce((all, file) => all + file.size, 0)
  const report = (): void => onProgress?.(sources.reduce((all, { done }) => all + done(), 0) / Math.max(size, 1))
  const reading = await readLogs(sources, selected.add, { onProgress: report })
  const { spool, counts } = selected
  const toMs = (at: Micros | undefined): number | undefined => (at === undefined ? undefined : at / 1000)
  return {
    requests: reading.entries,
    lines: reading.lines,
    badLines: reading.bad.count,
    formats: Object.fromEntries(reading.formats),
    fromMs: toMs(reading.from),
    toMs: toMs(reading.to),
    keys: spool.keys.length,
    keyless: counts.keyless,
    doubts: doubtsIn(reading, { most: UNREADABLE, byAddress: key === 'ip' }),
    suggest: (share) => suggestionsFor(selected, Object.keys(PERIODS) as Period[], Math.floor(share * reading.entries)),
    enough: (per) => lowestLimit(spool, (limit) => quotaPer(per, limit), 0),
    tryLimit: (per, limit) => limitResult(spool, tokenBucket({ limit, per: PERIODS[per] })),
  }
}

function limitResult(spool: Spool, quota: ReturnType<typeof tokenBucket>): LimitResult {
  const timeline = new Timeline(INTERVALS)
  const [allowed, denied] = [timeline.series(sum, 0), timeline.series(sum, 0)]
  const deniedByKey = new Float64Array(spool.keys.length)
  replayOn(spool, quota, (at, key, isAllowed) => {
    const part = timeline.at(at)
    const { values } = isAllowed ? allowed : denied
    values[part] = (values[part] as number) + 1
    if (!isAllowed) deniedByKey[key] = (deniedByKey[key] as number) + 1
    return true
  })
  const hit = [...deniedByKey.keys()].filter((key) => deniedByKey[key] !== 0)
  const worst = hit.sort((a, b) => (deniedByKey[b] as number) - (deniedByKey[a] as number)).slice(0, SHOWN_KEYS)
  const numbers = ({ values }: { readonly values: Float64Array }): number[] => [...values.slice(0, timeline.length)]
  return {
    denied: deniedByKey.reduce((all, each) => all + each, 0),
    keys: hit.length,
    deniedKeys: worst.map((key) => ({
      key: spool.keys[key] as string,
      requests: spool.totals[key] as number,
      denied: deniedByKey[key] as number,
    })),
    timeline: {
      startMs: timeline.start / 1000,
      widthMs: timeline.width / 1000,
      allowed: numbers(allowed),
      denied: numbers(denied),
    },
  }
}
