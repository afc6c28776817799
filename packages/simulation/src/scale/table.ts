import type { Report } from './measure.ts'

const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 2 : 0)} %`

/** A table of reports in Markdown. */
export function tableOf(reports: ReadonlyMap<string, Report>): string {
  const rows = [...reports].map(([name, { over, overTotal, under, commands, p50Ms, p99Ms, worst }]) => [
    name,
    percent(over),
    percent(overTotal),
    percent(under),
    commands.toPrecision(2),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    `${worst.region}: ${percent(worst.share)}, ${worst.p99Ms.toFixed(1)} ms`,
  ])
  return [
    '| scheme | over, worst key | over, all | under | commands per decision | p50, ms | p99, ms | worst region |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')
}
