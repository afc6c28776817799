// How many lines a second the command-line program replays.

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerOf } from './answer.ts'
import { type Case, figureOf, type Row, type Table } from './table.ts'
import { addressOf } from './workloads.ts'

const LINES = 2_000_000
const TIMES = 3
const POLICY = {
  name: 'api',
  limit_keys: ['ip'],
  algorithm: 'token_bucket',
  algorithm_config: { limit: 100, per: '1m' },
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A request of a log. */
interface Logged {
  readonly address: string
  readonly time: Date
  readonly item: number
  readonly bytes: number
}

/** `10/Oct/2026:13:55:36 +0000` */
function commonTime(time: Date): string {
  const [date = '', clock = ''] = time.toISOString().split(/[T.]/)
  const [year, month, day] = date.split('-')
  return `${day}/${MONTHS[Number(month) - 1]}/${year}:${clock} +0000`
}

const combined = ({ address, time, item, bytes }: Logged): string =>
  `${address} - - [${commonTime(time)}] "GET /api/v1/items/${item} HTTP/1.1" 200 ${bytes} "-" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"`

const json = ({ address, time, item, bytes }: Logged): string =>
  JSON.stringify({
    time,
    remote_addr: address,
    request_method: 'GET',
    request_uri: `/api/v1/items/${item}`,
    status: 200,
    body_bytes_sent: bytes,
  })

/** Each fifth client has an IPv6 address. */
const mixed = (client: number): string =>
  client % 5 === 0 ? `2001:db8:${(client >> 8).toString(16)}:${(client & 255).toString(16)}::1` : addressOf(client)

/** The kinds of logs: the format of a line, and the address of its client. */
const LOGS: Readonly<Record<string, readonly [line: (logged: Logged) => string, clientOf: (i: number) => string]>> = {
  'combined, 1,000 IPv4 clients': [combined, () => addressOf(random(1_000))],
  'combined, 50,000 clients, a fifth of them IPv6': [combined, () => mixed(random(50_000))],
  'JSON, the same clients': [json, () => mixed(random(50_000))],
  'combined, a million IPv4 clients with 2 requests': [combined, (i) => addressOf(i % (LINES / 2))],
}
const FIRST = Object.keys(LOGS)[0] as string

const random = (below: number): number => Math.floor(Math.random() * below)

async function write(path: string, name: string): Promise<void> {
  const [line, clientOf] = LOGS[name] as (typeof LOGS)[string]
  const file = createWriteStream(path)
  const start = Date.UTC(2026, 9, 10)
  for (let i = 0; i < LINES; ) {
    const lines: string[] = []
    // A hundred requests a second.
    for (let j = 0; j < 10_000; j++, i++) {
      const time = new Date(start + Math.floor(i / 100) * 1_000)
      lines.push(line({ address: clientOf(i), time, item: random(5_000), bytes: random(9_000) }))
    }
    if (!file.write(`${lines.join('\n')}\n`)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
}

interface Spent {
  readonly ms: number
  readonly cpuMs?: number
  readonly kilobytes?: number
}

function replay(log: string, policies: string): Promise<Spent> {
  const execArgv = ['--import', new URL('built.mjs', import.meta.url).href]
  return answerOf(fork(new URL('replay.mjs', import.meta.url), [log, policies], { execArgv }), 'the replay')
}

/** Counts the first field of each line: what any reader of a log does at least. */
async function count(log: string): Promise<Spent> {
  const startMs = performance.now()
  execFileSync('awk', ['{ n[$1]++ }', log])
  return { ms: performance.now() - startMs }
}

const LINE = 'ns a line'

async function rowOf(name: string, measure: () => Promise<Spent>): Promise<Row> {
  const spent: Spent[] = []
  for (let i = 0; i < TIMES; i++) spent.push(await measure())
  const figure = (value: keyof Spent, per: number) => {
    const known = spent.flatMap((each) => each[value] ?? [])
    return known.length === 0 ? null : figureOf(known.map((each) => each * per))
  }
  return { name, figures: [figure('ms', 1e6 / LINES), figure('cpuMs', 1e6 / LINES), figure('kilobytes', 1 / 1_024)] }
}

async function replays(progress: (share: number) => void): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-logs-'))
  const [log, policies] = [join(folder, 'access.log'), join(folder, 'policies.json')]
  const rows: Row[] = []
  try {
    writeFileSync(policies, JSON.stringify([POLICY]))
    for (const name of Object.keys(LOGS)) {
      await write(log, name)
      if (name === FIRST) rows.push(await rowOf('awk, a count by client', () => count(log)))
      rows.push(await rowOf(name, () => replay(log, policies)))
      progress(rows.length / (Object.keys(LOGS).length + 1))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  return {
    title: 'The replay of a log',
    how: `One policy by \`ip\`, and ${LINES.toLocaleString('en')} lines, each time in a new process, without its start of 0.1 s.`,
    columns: [LINE, 'ns of CPU time', 'MB'],
    rows,
    targets: [{ ours: FIRST, column: LINE, atMost: 1_000 }],
  }
}

export const processes = 1

export const cases: Readonly<Record<string, Case>> = { replays }
