/** The columns of the fault matrix; what does not apply to a row is left out of it. */
const columns = [
  'server',
  'fault',
  'requests',
  'allow: 200',
  'deny: 503',
  'fallback: 200/429',
  'local: 200/429',
  'admitted',
  'bound',
  'lost',
  'hung',
  'crashed',
  'p50 added ms',
  'p99 added ms',
  'counts',
] as const
export type Row = Readonly<Partial<Record<(typeof columns)[number], string | number | undefined>>>

const rows: string[] = [columns.join(' | ')]

export function addRow(row: Row): void {
  rows.push(columns.map((column) => row[column] ?? '-').join(' | '))
}

export const printTable = (): void => void process.stdout.write(`\n${rows.join('\n')}\n\n`)
