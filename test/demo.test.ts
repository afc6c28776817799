import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fakeClock } from '@spillway/conformance'
import { perSecond, rateLimit } from '@spillway/fetch'
import { memoryStore } from '@spillway/memory'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { CLIENTS } from '../demo/clients.ts'
import type { Answer, Send } from '../demo/http.ts'
import { BURST, limits, RATE } from '../demo/limits.ts'
import { judge } from '../demo/verdict.ts'

// The demo checks the responses of its servers. These tests check that its verdict matches the present responses.

const root = fileURLToPath(new URL('..', import.meta.url))

// It takes its five seconds: its clients and its servers keep real time.
describe('the demo', () => {
  const printed: string[] = []
  let lines: readonly string[]
  let warnings = ''
  let code: unknown

  beforeAll(async () => {
    const demo = spawn(process.execPath, ['scripts/demo.mjs'], { cwd: root })
    demo.stdout.setEncoding('utf8').on('data', (text: string) => printed.push(text))
    demo.stderr.setEncoding('utf8').on('data', (text: string) => {
      warnings += text
    })
    ;[code] = await once(demo, 'close')
    lines = printed.join('').trimEnd().split('\n')
  }, 120_000)

  test('finds all promises kept, and warns of nothing', () => {
    expect(lines.filter((line) => line.startsWith('✗'))).toEqual([])
    expect([warnings, code]).toEqual(['', 0])
  })

  test('prints its title before it loads anything', () => {
    expect(printed[0]).toMatch(/^Spillway in 8 frameworks and Node: .*\n$/)
  })

  test('fits 80 × 24, with a line for the prompt', () => {
    expect(lines.length).toBeLessThan(24)
    expect(lines.filter((line) => [...line].length > 80)).toEqual([])
  })

  test('has a line for each adapter of the repository', () => {
    const packages = readdirSync(join(root, 'packages'))
    const adapters = packages.filter((name) => existsSync(join(root, 'packages', name, 'test/adapter.test.ts')))
    expect(adapters.length).toBeGreaterThan(8)
    const drawn = adapters.filter((name) => lines.some((line) => line.toLowerCase().startsWith(`${name} `)))
    expect(drawn).toEqual(adapters)
  })

  test('ends with three commands to try next', () => {
    expect(lines.at(-4)).toMatch(/To try next:$/)
    for (const line of lines.slice(-3)) expect(line).toMatch(/^ {2}np[mx] \S.* {3}\S/)
  })
})

/** The response of a limiter like the demo's to a cost above its capacity. */
async function neverAnswered(): Promise<Answer> {
  const quota = perSecond(RATE, { burst: BURST })
  const limit = rateLimit({
    name: 'demo',
    quota: () => quota,
    key: () => 'weighted',
    cost: BURST + 2,
    store: memoryStore({ clock: fakeClock() }),
  })
  const response = await limit(() => new Response('Come in.'))(new Request('http://localhost/'))
  const { status, statusText, headers } = response
  return {
    sent: 0,
    received: 1,
    cost: BURST + 2,
    allowed: response.ok,
    left: BURST,
    wait: undefined,
    kept: undefined,
    status: `${status} ${statusText}`,
    headers,
    body: await response.text(),
  }
}

function brokenBy(answer: Answer): readonly string[] {
  const checks = judge([{ framework: 'fetch', client: 'weighted', answers: [answer] }])
  return checks.find(({ promise }) => promise.includes('never fit'))?.broken ?? ['it is not looked at']
}

describe('the verdict on a cost that never fits', () => {
  test('accepts the response of a limiter', async () => {
    expect(brokenBy(await neverAnswered())).toEqual([])
  })

  test.each<readonly [string, (answer: Answer) => Partial<Answer>]>([
    ['lets it in', () => ({ allowed: true })],
    ['says when to come back', () => ({ headers: new Headers({ 'Retry-After': '1' }) })],
    [
      'says a wait in the document',
      ({ body }) => ({ body: body.replace('"retry-after-ms":null', '"retry-after-ms":1') }),
    ],
    ['does not say why', ({ body }) => ({ body: JSON.stringify({ ...JSON.parse(body), detail: undefined }) })],
  ])('is not, where an answer %s', async (_, wrong) => {
    const answer = await neverAnswered()
    expect(brokenBy({ ...answer, ...wrong(answer) })).toHaveLength(1)
  })
})

// Reproduces a bug: it made up for each stall by requests without a pause, more than fit, and the demo failed.
test('the steady client is not denied where its process stalls', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const served = rateLimit(limits)(() => new Response())
  const statuses: number[] = []
  const send: Send = async () => {
    const sent = performance.now()
    const { status } = await served(new Request('http://demo', { headers: { 'x-client': 'steady' } }))
    if (statuses.push(status) === 1) vi.advanceTimersByTime(4_900)
    return { sent } as Answer
  }
  const done = CLIENTS['steady']?.(send)
  await vi.advanceTimersByTimeAsync(20_000)
  await done
  expect(statuses).toEqual(Array(20).fill(200))
})
