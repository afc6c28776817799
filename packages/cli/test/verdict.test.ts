import { execFileSync } from 'node:child_process'
import { appendFileSync, renameSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { openSource } from '../src/log/file.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

// A threshold used to pass on logs that were empty, cut off or unreadable, and logs that were given in another order
// or format than expected were answered wrongly, with exit code 0.

const START = Date.UTC(2026, 0, 5)
const timeOf = (second: number, zone = '+0000'): string => {
  const [, day, month, year, time] =
    /, (\d\d) (\w+) (\d+) (\S+)/.exec(new Date(START + second * 1000).toUTCString()) ?? []
  return `${day}/${month}/${year}:${time} ${zone}`
}
const line = (second: number, client = '192.0.2.1', head = `${client} - -`): string =>
  `${head} [${timeOf(second)}] "GET / HTTP/1.1" 200 1\n`
const json = (second: number, ip = '192.0.2.1'): string =>
  `${JSON.stringify({ time: START + second * 1000, ip, path: '/' })}\n`
const lines = (from: number, to: number, client?: string): string =>
  Array.from({ length: to - from }, (_, i) => line(from + i, client)).join('')

const folder = folderOf({
  // One request a minute: of requests a second apart, all but the first are denied.
  'p.json': JSON.stringify([bucket('p', { limit: 1, per: '1m', burst: 1 })]),
  'never.json': JSON.stringify([bucket('never', { limit: 1, per: '1m', burst: 1 }, { match: { path: '/moved' } })]),
})
afterAll(() => folder.remove())
const file = (name: string, content: string | Buffer): string => {
  writeFileSync(folder.path(name), content)
  return folder.path(name)
}
const replay = (logs: readonly string[], ...more: string[]) =>
  spillway(['replay', ...logs, '--policy', folder.path('p.json'), '--json', ...more])
const deniedOf = async (logs: readonly string[], ...more: string[]): Promise<unknown> => {
  const { exitCode, out, err } = await replay(logs, ...more)
  if (exitCode !== 0) return [exitCode, err]
  const [plan] = JSON.parse(out).plans
  return plan.policies[0].busiest.map(({ key, requests, denied }: Record<string, unknown>) => [key, requests, denied])
}

describe('nothing to judge', () => {
  const good = lines(0, 200)
  test.each<[string, string | Buffer, string]>([
    ['an empty log', '', 'the log is empty'],
    ['an empty packed log', gzipSync(''), 'the log is empty'],
    ['empty lines', '\n\r\n\n', 'the log is empty'],
    ['a log of something else', 'server started\n'.repeat(9), 'no line of the log is a request'],
    ['bytes', Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 256)), 'no line of the log is a request'],
    ['a log of which more than 1 % cannot be read', `${good}x\nx\nx\n`, '3 of 203 (1.48 %) lines could not be read'],
    ['a packed log that is cut off', gzipSync(good).subarray(0, -9), 'ends too early: unexpected end of file'],
    ['a log in UTF-16', Buffer.from(good, 'utf16le'), 'no line of the log is a request'],
    ['a line of 10 MB and little else', `${'x'.repeat(10 << 20)}\n${line(0)}`, 'it is longer than a megabyte'],
    ['lines that end with carriage returns', good.replaceAll('\n', '\r'), 'it has carriage returns within'],
    ['the newest first', good.split('\n').reverse().join('\n'), 'the log is not in the order of time'],
    [
      'a clock that was wrong for a moment',
      `${lines(0, 100)}${line(9e6)}${lines(100, 200)}`,
      'the log is not in the order of time',
    ],
    ['requests without an address', json(0, '-').repeat(9), 'have no client address'],
    ['two fields that may be the client', line(0, '', '192.0.2.1 192.0.2.2 - -'), 'two fields that may be the client'],
  ])('%s has an exit code of its own', async (_, content, message) => {
    const path = file('a.log', content)
    for (const more of [['--deny-at-most', '100%'], []]) {
      const { exitCode, err } = await replay([path], ...more)
      expect([exitCode, err]).toEqual([3, expect.stringContaining(message)])
      expect(err).toMatch(/^spillway: no verdict: /)
    }
    const suggested = await spillway(['suggest', path, '--output', folder.path('suggested.json')])
    expect([suggested.exitCode, suggested.err]).toEqual([3, expect.stringContaining(message)])
    expect(await spillway(['check', folder.path('suggested.json')])).toMatchObject({ exitCode: 2 })
  })

  test('a policy that counts no request has no verdict', async () => {
    const path = file('a.log', good)
    const moved = (...more: string[]) => spillway(['replay', path, '--policy', folder.path('never.json'), ...more])
    expect(await moved('--deny-at-most', '1%')).toMatchObject({
      exitCode: 3,
      err: 'spillway: no verdict: "never" counts none of the 200 requests.\n',
    })
    expect((await moved()).exitCode).toBe(0)
  })

  // Reproduces a bug: a threshold passed if another policy of the file counted.
  test('each policy that counts no request is named, but none that others make idle', async () => {
    const limit = { limit: 200, per: '1m', burst: 200 }
    const policies = file(
      'several.json',
      JSON.stringify([
        bucket('client', limit, { spill: 'extra' }),
        bucket('extra', limit),
        bucket('pro', limit, { tiers: 'plan', match: { 'claim:plan': 'pro' } }),
        bucket('free', limit, { tiers: 'plan' }),
        bucket('login', limit, { match: { path: '/login' } }),
        bucket('trial', limit, { match: { path: '/trial' }, mode: 'shadow' }),
        bucket('gold', limit, { tiers: 'rank', match: { path: '/gold' } }),
        bucket('silver', limit, { tiers: 'rank', match: { path: '/silver' } }),
      ]),
    )
    const path = file('a.log', good)
    const { exitCode, err } = await spillway(['replay', path, '--policy', policies, '--deny-at-most', '1%'])
    expect([exitCode, err.trimEnd().split('\n')]).toEqual([
      3,
      ['login', 'trial', 'gold', 'silver'].map(
        (name) => `spillway: no verdict: policy "${name}" of "several" counts none of the 200 requests.`,
      ),
    ])
    expect((await spillway(['replay', path, '--policy', policies])).exitCode).toBe(0)
  })

  test('keys that were evicted while they were limited leave no verdict', async () => {
    const path = file('a.log', [0, 1, 2].map((s) => line(s) + line(s, '192.0.2.2')).join(''))
    const { exitCode, err } = await replay([path], '--max-keys', '1')
    expect([exitCode, err]).toEqual([3, expect.stringContaining('raise --max-keys')])
  })

  test('--unreadable-at-most limits the unreadable share', async () => {
    const path = file('a.log', `${lines(0, 98)}x\ny\n`)
    const at = async (share: string) => (await replay([path], '--unreadable-at-most', share)).exitCode
    expect([await at('1%'), await at('1.9%'), await at('2%'), await at('200%')]).toEqual([3, 3, 0, 2])
  })

  test('empty standard input is an empty log, and a terminal is no log', async () => {
    const args = ['replay', '--policy', folder.path('p.json')]
    expect(await spillway(args, { stdin: Readable.from([]) })).toMatchObject({ exitCode: 3 })
    const stdin = Object.assign(Readable.from([]), { isTTY: true })
    expect(await spillway(args, { stdin })).toMatchObject({
      exitCode: 2,
      err: 'spillway: no log is given: name one, or pipe one into standard input.\n',
    })
  })

  test('a missed threshold has its own exit code', async () => {
    const path = file('a.log', lines(0, 10))
    expect((await replay([path], '--deny-at-most', '89%')).exitCode).toBe(99)
    expect((await replay([path], '--deny-at-most', '90%')).exitCode).toBe(0)
  })
})

describe('several logs', () => {
  test('are read in the order of time, whatever the order they are given in', async () => {
    const old = file('access.log.2', lines(0, 50))
    const middle = file('access.log.1', lines(50, 90))
    const newest = file('access.log', lines(90, 100))
    for (const logs of [
      [old, middle, newest],
      [newest, middle, old],
      [old, newest, middle],
    ]) {
      expect(await deniedOf(logs)).toEqual([['192.0.2.1', 100, 98]])
    }
  })

  test('of several servers are read as one', async () => {
    const odd = Array.from({ length: 600 }, (_, i) => line(2 * i + 1)).join('')
    const even = Array.from({ length: 600 }, (_, i) => line(2 * i)).join('')
    const logs = [file('odd.log', odd), file('next.log', line(1200)), file('even.log', gzipSync(even))]
    const { exitCode, out } = await replay(logs)
    const expected = { requests: 1201, late: { count: 0 }, plans: [{ denied: 1180 }] }
    expect([exitCode, JSON.parse(out)]).toMatchObject([0, expected])
  })

  test('one of them from standard input, one empty, one of JSON', async () => {
    const args = ['replay', file('b.log', json(60)), '-', file('empty.log', ''), '--policy', folder.path('p.json')]
    const { exitCode, out } = await spillway([...args, '--json'], { stdin: Readable.from([Buffer.from(line(0))]) })
    expect(exitCode).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ requests: 2, late: { count: 0 }, plans: [{ denied: 0 }] })
  })

  test('given twice, or beside their compressed copies, are rejected', async () => {
    const path = file('a.log', lines(0, 10))
    symlinkSync(path, folder.path('link.log'))
    const packed = file('a.log.gz', gzipSync(lines(0, 8)))
    for (const [logs, message] of [
      [[path, path], 'are one log'],
      [[path, folder.path('link.log')], 'are one log'],
      [[path, packed], 'begin with the same lines'],
      [['-', '-'], 'are one log'],
    ] as const) {
      expect(await deniedOf(logs)).toEqual([2, expect.stringContaining(message)])
    }
  })

  test('one without a request among others leaves no verdict', async () => {
    const { exitCode, err } = await replay([file('a.log', lines(0, 200)), file('error.log', 'x\n')])
    expect([exitCode, err]).toEqual([3, expect.stringContaining('error.log is a request')])
  })
})

describe('the client of a line', () => {
  const host = 'www.example.com'
  test.each<[string, string]>([
    [`${host}:443 192.0.2.1 - -`, '192.0.2.1'],
    [`${host}:443 192.0.2.1 - frank [x] y`, '192.0.2.1'],
    [`${host} 192.0.2.1 - -`, '192.0.2.1'],
    [`198.51.100.1:443 192.0.2.1 - -`, '192.0.2.1'],
    [`[2001:db8::9]:443 192.0.2.1 - -`, '192.0.2.1'],
    [`${host}:443 client.example.org - -`, 'client.example.org'],
    [`client.example.org - -`, 'client.example.org'],
    [`192.0.2.1:50123 - -`, '192.0.2.1'],
    [`[2001:db8::1]:50123 - -`, '2001:db8:0:0:0:0:0:0/56'],
    [`${host}:443 [2001:db8::1] - -`, '2001:db8:0:0:0:0:0:0/56'],
    [`2001:db8::1%eth0 - -`, '2001:db8:0:0:0:0:0:0/56'],
    [`::ffff:192.0.2.1 - -`, '192.0.2.1'],
    [`192.0.2.1 - a b c`, '192.0.2.1'],
    [`192.0.2.1 - a [05/Jan/2020:00:00:00 +0000]`, '192.0.2.1'],
  ])('%s', async (head, key) => {
    expect(await deniedOf([file('a.log', line(0, '', head))])).toEqual([[key, 1, 0]])
  })

  test.each([
    '192.0.2.1 192.0.2.2 - -',
    `${host} client.example.org - -`,
    `${host} - - -`,
    '192.0.2.1:443 client.example.org - -',
    '192.0.2.1, 192.0.2.2 10.0.0.1 - -',
    '"192.0.2.1" 10.0.0.1 - -',
    '\0\0\x00192.0.2.1 - -',
  ])('%j is rejected', async (head) => {
    expect((await replay([file('a.log', line(0, '', head))])).exitCode).toBe(3)
  })

  test('the authenticated user is found behind a virtual host too', async () => {
    const users = folderOf({
      'p.json': JSON.stringify([bucket('p', { rps: 1, burst: 9 }, { limit_keys: ['claim:user'] })]),
      'a.log': line(0, '', `${host}:443 192.0.2.1 - frank b`) + line(0, '', '192.0.2.1 - frank b'),
    })
    const { out } = await spillway(['replay', users.path('a.log'), '--policy', users.path('p.json'), '--json'])
    expect(JSON.parse(out).plans[0].policies[0].busiest).toMatchObject([{ key: 'frank b', requests: 2 }])
    users.remove()
  })

  test('JSON names it with or without port', async () => {
    const path = file('a.json', ['192.0.2.1:1', '192.0.2.1:2', '192.0.2.1'].map((ip) => json(0, ip)).join(''))
    expect(await deniedOf([path])).toEqual([['192.0.2.1', 3, 2]])
  })
})

describe('whatever else a log may be', () => {
  test('formats may change from line to line, and ends of lines, and zones', async () => {
    const zoned = line(30).replace(/\[.*\]/, `[${timeOf(3630, '+0100')}]`)
    const text = `\ufeff${line(0)}${json(10)}${line(20).replace('\n', '\r\n')}${zoned}${line(40, '', 'h:80 192.0.2.1 - -')}`
    expect(await deniedOf([file('a.log', text)])).toEqual([['192.0.2.1', 5, 4]])
  })

  test('invalid UTF-8 is accepted in parts that do not matter', async () => {
    const text = line(0).replace('GET /', 'GET /\xff')
    expect(await deniedOf([file('a.log', Buffer.from(text, 'latin1'))])).toEqual([['192.0.2.1', 1, 0]])
  })

  test('requests that are logged when they end may be a minute late', async () => {
    expect(await deniedOf([file('a.log', line(60) + line(0))])).toEqual([['192.0.2.1', 2, 1]])
    expect((await replay([file('a.log', line(61) + line(0))])).exitCode).toBe(3)
  })

  test('a log that grows is read as it was, and one that shrinks or is replaced ends too early', async () => {
    const path = file('a.log', lines(0, 10))
    const read = async (change: () => void): Promise<readonly [number, string | undefined]> => {
      writeFileSync(path, lines(0, 10))
      const source = await openSource(path, Readable.from([]))
      change()
      let bytes = 0
      for await (const chunk of source.chunks()) bytes += chunk.length
      return [bytes / line(0).length, source.broken()]
    }
    expect(await read(() => appendFileSync(path, lines(10, 20)))).toEqual([10, undefined])
    expect(await read(() => truncateSync(path, 3 * line(0).length))).toEqual([3, expect.stringContaining('truncated')])
    const replaced = (): void => {
      writeFileSync(folder.path('new.log'), lines(10, 20))
      renameSync(folder.path('new.log'), path)
    }
    expect(await read(replaced)).toEqual([0, expect.stringContaining('replaced')])
  })

  test('a pipe is read once, and in its place', async () => {
    const pipe = folder.path('pipe')
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe])
    const written = writeFile(pipe, lines(0, 50))
    expect(await deniedOf([file('late.log', lines(50, 60)), pipe])).toEqual([['192.0.2.1', 60, 59]])
    await written
  })

  test.each<[string, () => string, string]>([
    ['a directory', () => folder.path(''), 'is a directory: name the logs in it'],
    ['a log packed by zstd', () => file('a.zst', Buffer.from('28b52ffd00', 'hex')), 'zstdcat'],
    ['a log packed by xz', () => file('a.xz', Buffer.from('fd377a585a00', 'hex')), 'xzcat'],
  ])('%s is rejected', async (_, path, message) => {
    expect(await deniedOf([path()])).toEqual([2, expect.stringContaining(message)])
  })

  // Root may read any file, but follows no endless link.
  test('a log that cannot be read is an error', async () => {
    const path = folder.path('endless.log')
    symlinkSync(path, path)
    expect(await deniedOf([path])).toEqual([2, expect.stringContaining('endless.log cannot be read: ELOOP')])
  })
})
