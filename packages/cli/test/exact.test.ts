import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createGzip } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { bucket, folderOf } from './terminal.ts'

// Many lines whose expected results follow from their construction, without a limiter. In every second:
// - steady sends 1 request: a bucket of 5 that refills 1 per second never runs dry;
// - double sends 2: its 5 units last a while, then it has the 1 that refills;
// - others, 10,000 of them, alternate: each returns only after its bucket is full again.
// In every minute burst sends 20 requests at once, of which 5 are allowed.

// A process that starts and reads so many lines needs a second, and many more on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const LINES = 100_000
const SECONDS = 5_000
const MINUTES = Math.ceil(SECONDS / 60)
const WHOLE_MINUTES = Math.floor(SECONDS / 60)
const BAD = 100
const ASKED = { steady: SECONDS, double: 2 * SECONDS, burst: 20 * MINUTES }
const OTHERS = LINES - BAD - ASKED.steady - ASKED.double - ASKED.burst
const START = Date.UTC(2026, 0, 5)
const JSON_OFFSET_MS = 250.125

const root = fileURLToPath(new URL('../../..', import.meta.url))

const policies = folderOf({
  'bucket.json': JSON.stringify([bucket('bucket', { tokens_per_second: 1, burst: 5 })]),
  'window.json': JSON.stringify([bucket('window', { limit: 100, window: '1m' }, { algorithm: 'fixed_window' })]),
})
afterAll(() => policies.remove())

/**
 * The denied requests, their keys, their first and last second, and the longest wait of requests at this offset into a
 * second.
 */
const expected = {
  bucket: {
    denied: ASKED.double - (5 + SECONDS - 1) + 15 * MINUTES,
    keys: [
      ['203.0.113.2', ASKED.double, SECONDS - 4, 4, SECONDS - 1],
      ['203.0.113.3', ASKED.burst, 15 * MINUTES, 0, 60 * (MINUTES - 1)],
    ],
    longestRetryMs: () => 1000,
  },
  window: {
    denied: 20 * WHOLE_MINUTES,
    keys: [['203.0.113.2', ASKED.double, 20 * WHOLE_MINUTES, 50, 60 * WHOLE_MINUTES - 1]],
    longestRetryMs: (offsetMs: number) => 10_000 - offsetMs,
  },
}

const otherAddress = (i: number): string => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`

/** Lines of one second. */
const formats = {
  common: (second: number) => {
    const time = commonTime(second)
    return (address: string) => `${address} - - [${time}] "GET /a HTTP/1.1" 200 17`
  },
  combined: (second: number) => {
    const time = commonTime(second)
    return (address: string) => `${address} - - [${time}] "POST /b?c=d HTTP/2.0" 200 17 "https://example.com/" "curl/8"`
  },
  JSON: (second: number) => {
    const time = new Date(START + second * 1000 + 250).toISOString().replace('250Z', '250125Z')
    return (address: string) => `{"time":"${time}","remote_addr":"${address}","method":"GET","url":"/a","status":200}`
  },
}

function commonTime(second: number): string {
  const [, day, month, year, time] =
    /, (\d\d) (\w+) (\d+) (\S+)/.exec(new Date(START + second * 1000).toUTCString()) ?? []
  return `${day}/${month}/${year}:${time} +0000`
}

/** The log, in pieces of many lines. */
function* piecesOf(format: keyof typeof formats): Generator<Buffer> {
  let others = 0
  let text = ''
  for (let second = 0; second < SECONDS; second++) {
    const line = formats[format](second)
    text += `${line('203.0.113.1')}\n${`${line('203.0.113.2')}\n`.repeat(2)}`
    for (const until = Math.floor((OTHERS * (second + 1)) / SECONDS); others < until; others++) {
      text += `${line(otherAddress(others % 10_000))}\n`
    }
    if (second % 60 === 0) text += `${line('203.0.113.3')}\n`.repeat(20)
    if (second % (SECONDS / BAD) === 0) text += 'this is no line of a log\n'
    if (text.length < 60_000) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

const log = (format: keyof typeof formats): Readable => Readable.from(piecesOf(format))

interface KeyResult {
  readonly key: string
  readonly requests: number
  readonly denied: number
  readonly firstDeniedAt: string
  readonly lastDeniedAt: string
  readonly longestRetryMs: number
}

const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

/** The program as it is installed, with too little memory to keep what it has read. */
async function replay(input: Readable, policy: string): Promise<string> {
  const node = ['--max-old-space-size=44', '--import', join(root, 'bench/built.mjs')]
  const program = join(root, 'packages/cli/build/program/main.js')
  const child = spawn(
    process.execPath,
    [...node, program, 'replay', '-', '--json', '--policy', policies.path(`${policy}.json`)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  input.pipe(child.stdin)
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  return out
}

beforeAll(() => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-b', join(root, 'packages/cli')])
})

test.each([
  ['common', log('common'), 'bucket', 0],
  ['combined', log('combined'), 'bucket', 0],
  ['JSON', log('JSON'), 'window', JSON_OFFSET_MS],
  ['packed', log('combined').pipe(createGzip({ level: 1 })), 'window', 0],
] as const)('a %s log is counted exactly', async (_, input, policy, offsetMs) => {
  const { denied, keys, longestRetryMs } = expected[policy]
  const result = JSON.parse(await replay(input, policy))
  expect(result).toMatchObject({ lines: LINES, requests: LINES - BAD, bad: { count: BAD }, late: { count: 0 } })
  const [plan] = result.plans
  expect(plan).toMatchObject({ counted: LINES - BAD, denied, allowed: LINES - BAD - denied, uncounted: 0 })
  const secondOf = (iso: string): number => Math.floor((Date.parse(iso) - START) / 1000)
  const found = plan.policies[0].deniedKeys.map((found: KeyResult) => [
    found.key,
    found.requests,
    found.denied,
    secondOf(found.firstDeniedAt),
    secondOf(found.lastDeniedAt),
    found.longestRetryMs,
  ])
  expect(found).toEqual(keys.map((key) => [...key, longestRetryMs(offsetMs)]))
  expect([total(plan.timeline.allowed), total(plan.timeline.denied)]).toEqual([plan.allowed, denied])
})
