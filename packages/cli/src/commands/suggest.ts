import { EXIT } from '../exit.ts'
import { columns, count, moment, percent, wrapped } from '../format.ts'
import { type Io, painter, UserError, widthOf } from '../io.ts'
import { doubtsIn } from '../log/doubts.ts'
import type { Reading } from '../log/read.ts'
import { iso } from '../replay/result.ts'
import { formatsText, skippedText } from '../replay/text.ts'
import { rulesOf, type Selected, selectedBy, suggestionsFor } from '../suggest/selected.ts'
import { Spool } from '../suggest/spool.ts'
import { temporaryFile } from '../suggest/temporary-file.ts'
import { PERIODS, type Period, type Suggestion } from '../suggest/tightest.ts'
import { addressOf, type LogOptions, openAll, readAll, reportDoubts } from './logs.ts'
import { shareOf } from './options.ts'
import { checkOutputs, written } from './output.ts'

/** The options of `spillway suggest`. */
export interface SuggestOptions extends LogOptions {
  readonly denyAtMost: string
  readonly key: readonly string[]
  readonly per: readonly string[]
  readonly output?: string
  readonly json?: boolean
}

/** The tightest quotas for one selector. */
interface Suggested {
  readonly key: string
  readonly keys: number
  /** Requests without a key, which count as one client. */
  readonly keyless: number
  readonly suggestions: readonly Suggestion[]
}

/** Finds the tightest quotas for each key selector that would have denied at most a share of a log. */
export async function suggest(paths: readonly string[], options: SuggestOptions, io: Io): Promise<number> {
  const share = shareOf('--deny-at-most', options.denyAtMost)
  const unreadable = shareOf('--unreadable-at-most', options.unreadableAtMost)
  const periods = periodsOf(options.per)
  await checkOutputs([options.output], paths)
  const selectors = options.key.length === 0 ? ['ip'] : [...new Set(options.key)]
  const { trustProxy, ipv6Prefix } = options
  const address = addressOf(trustProxy)
  const lanes = selectors.map((key) =>
    selectedBy(key, new Spool(temporaryFile), { ipv6Prefix, ...(address && { address }) }),
  )
  try {
    const reading = await spooled(paths, lanes, options, io)
    const most = Math.floor(share * reading.entries)
    const found = lanes.map(
      (lane): Suggested => ({
        key: lane.key,
        keys: lane.spool.keys.length,
        keyless: lane.counts.keyless,
        suggestions: suggestionsFor(lane, periods, most),
      }),
    )
    const rules = rulesOf(found)
    const { entries: requests, bad, skipped } = reading
    const report = { requests, bad, skipped, denyAtMost: most, selectors: found, rules }
    io.stdout.write(
      options.json
        ? `${JSON.stringify(report, null, 2)}\n`
        : textOf(reading, most, found, painter(io.stdout, io.env), widthOf(io.stdout)),
    )
    const doubts = doubtsIn(reading, { most: unreadable, byAddress: selectors.includes('ip') })
    // Without a verdict, no policies are written.
    if (reportDoubts(doubts, io)) return EXIT.noVerdict
    if (options.output !== undefined) await written(options.output, `${JSON.stringify({ rules }, null, 2)}\n`)
    return EXIT.ok
  } finally {
    for (const { spool } of lanes) spool.close()
  }
}

function periodsOf(names: readonly string[]): readonly Period[] {
  const all = Object.keys(PERIODS) as Period[]
  const unknown = names.find((name) => !all.includes(name as Period))
  if (unknown === undefined) return names.length === 0 ? all : all.filter((period) => names.includes(period))
  throw new UserError(`--per is one of ${all.join(', ')}; got ${JSON.stringify(unknown)}.`)
}

async function spooled(
  paths: readonly string[],
  lanes: readonly Selected[],
  options: SuggestOptions,
  io: Io,
): Promise<Reading> {
  const sources = await openAll(paths, io)
  return readAll(
    sources,
    (entry, at) => {
      for (const lane of lanes) lane.add(entry, at)
    },
    options,
    io,
  )
}

function textOf(
  reading: Reading,
  most: number,
  found: readonly Suggested[],
  paint: ReturnType<typeof painter>,
  width: number,
): string {
  const { entries, lines, bad, skipped, formats, from, to } = reading
  const head = [
    `${paint('bold', `${count(entries)} requests`)} in ${count(lines)} lines${formatsText(Object.fromEntries(formats))}`,
    ...(from === undefined || to === undefined ? [] : [`${moment(iso(from))} to ${moment(iso(to))} UTC`]),
    ...(bad.count > 0
      ? [paint('yellow', `${count(bad.count)} ${bad.count === 1 ? 'line' : 'lines'} could not be read`)]
      : []),
    ...(skipped > 0 ? [skippedText(skipped)] : []),
    wrapped(`The tightest quotas that would have denied at most ${count(most)} of them, each on its own:`, width),
  ]
  const tables = found.map(({ key, keys, keyless, suggestions }) => {
    const rows = suggestions.map(({ per, limit, denied, keys }) => [
      `${count(limit)} a ${per}`.replace('a hour', 'an hour'),
      count(denied),
      percent(denied, entries),
      count(keys),
    ])
    const lost = keyless > 0 ? paint('yellow', `  ${count(keyless)} requests have no key, and count as one client`) : ''
    const table = columns(['quota', 'denied', 'share', 'keys'], rows, (text) => paint('dim', text))
    return `  ${paint('cyan', key)}, ${count(keys)} ${keys === 1 ? 'key' : 'keys'}${lost}\n${table.replace(/^/gm, '    ')}`
  })
  return `${[head.join('\n'), ...tables].join('\n\n')}\n`
}
