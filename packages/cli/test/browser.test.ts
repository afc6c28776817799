import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { afterAll, describe, expect, test } from 'vitest'
import { readAccessLogs } from '../src/browser.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))
const fileOf = (name: string, bytes: Uint8Array): File => new File([new Uint8Array(bytes)], name)

// Two clients of an hour: one is steady, the other comes in bursts that end in a denial.
const START = Date.UTC(2026, 0, 5)
const lines = Array.from({ length: 3_600 }, (_, i) => {
  const time = new Date(START + i * 1_000).toISOString()
  const burst = i % 300 < 25 ? 8 : 0
  return [
    `{"time":"${time}","ip":"192.0.2.1"}`,
    ...Array.from({ length: burst }, () => `{"time":"${time}","ip":"2001:db8::1"}`),
  ]
}).flat()
const [older, newer] = [lines.slice(0, 3_000), lines.slice(3_000)].map((part) =>
  Buffer.from(`${part.join('\n')}\n`),
) as [Buffer, Buffer]
const folder = folderOf({
  'a.log': newer,
  'a.log.1.gz': gzipSync(older),
  'policy.json': JSON.stringify([bucket('p', { limit: 90, per: '1m', burst: 90 })]),
})
afterAll(() => folder.remove())

describe('logs that are read without Node', () => {
  test.each(['nginx', 'apache', 'vhost', 'caddy', 'cloudfront', 'alb', 'envoy', 'pino', 'traefik'])(
    'have the numbers of the program: %s',
    async (name) => {
      const bytes = readFileSync(fixture(`${name}.log`))
      const logs = await readAccessLogs([fileOf(`${name}.log`, bytes)])
      const { out } = await spillway(['suggest', fixture(`${name}.log`), '--json', '--deny-at-most', '1%'])
      const { requests, bad, selectors } = JSON.parse(out)
      expect([logs.requests, logs.badLines, logs.keys, logs.suggest(0.01)]).toEqual([
        requests,
        bad.count,
        selectors[0].keys,
        selectors[0].suggestions,
      ])
      expect(logs.requests).toBeGreaterThan(0)
    },
  )

  test('are rotated and compressed, and a limit denies the requests that a replay denies', async () => {
    const logs = await readAccessLogs([fileOf('a.log', newer), fileOf('a.log.1.gz', gzipSync(older))])
    expect([logs.requests, logs.keys, logs.doubts]).toEqual([lines.length, 2, []])
    const paths = [folder.path('a.log'), folder.path('a.log.1.gz')]
    const { out } = await spillway(['replay', ...paths, '--policy', folder.path('policy.json'), '--json'])
    const [{ denied, policies }] = JSON.parse(out).plans
    const result = logs.tryLimit('minute', 90)
    expect(denied).toBeGreaterThan(0)
    expect([result.denied, result.keys]).toEqual([denied, policies[0].keysDenied])
    expect(result.deniedKeys).toEqual(
      policies[0].deniedKeys.map(({ key, requests, denied }: Record<string, unknown>) => ({ key, requests, denied })),
    )
    const { allowed, denied: deniedOver } = result.timeline
    expect([allowed, deniedOver].map((values) => values.reduce((a, b) => a + b))).toEqual([
      lines.length - denied,
      denied,
    ])
    expect(logs.tryLimit('minute', logs.enough('minute')).denied).toBe(0)
    expect(logs.tryLimit('minute', logs.enough('minute') - 1).denied).toBeGreaterThan(0)
  })

  test('that end too early are doubted, and what is packed otherwise is named', async () => {
    const cut = gzipSync(Buffer.concat([older, older])).subarray(0, -40)
    expect((await readAccessLogs([fileOf('cut.gz', cut)])).doubts[0]).toMatch(/^cut\.gz ends too early/)
    await expect(readAccessLogs([fileOf('a.zst', Buffer.from('28b52ffd00', 'hex'))])).rejects.toThrow('zstdcat')
    await expect(readAccessLogs([], { key: 'address' })).rejects.toThrow('--key is a selector such as ip')
  })

  test('report how much is read', async () => {
    const shares: number[] = []
    await readAccessLogs([fileOf('a.log', newer)], { onProgress: (share) => shares.push(share) })
    expect(shares.at(-1)).toBe(1)
  })
})

test('the entry for browsers needs no module of Node', async () => {
  const entry = join(fileURLToPath(new URL('../src', import.meta.url)), 'browser.ts')
  const imported: string[] = []
  const external = (id: string): boolean => {
    if (id.startsWith('node:')) imported.push(id)
    return !/^[./]/.test(id)
  }
  await (await rolldown({ input: entry, external })).generate()
  expect(imported).toEqual([])
})
