import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, symlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort, startRedis } from '../../../test/services/redis.ts'
import { bucket, folderOf, type Ran, spillway } from './terminal.ts'

// Every run ends with an exit code and, if that is not 0, with a sentence: never with a stack trace, and never with a
// password. Files that could not be written and URLs that could not be decoded printed one.

const folder = folderOf({
  'a.log': '192.0.2.1 - - [05/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1\n',
  'busy.log': '192.0.2.1 - - [05/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1\n'.repeat(3),
  'p.json': JSON.stringify([bucket('p', { limit: 1, per: '1m', burst: 1 })]),
  'empty.json': '',
  'null.json': 'null',
  'list.json': '[]',
  'odd.json': '[{"name":1e999}]',
  'deep.json': '['.repeat(100_000),
  'bytes.json': Buffer.from([0xff, 0xfe, 0]),
})
afterAll(() => folder.remove())
const path = folder.path
const policy = ['--policy', path('p.json')]
const log = path('a.log')

/** A server that never answers. Once it has been asked, `TIMEOUT_MS` pass. */
let mute: Server
const TIMEOUT_MS = 5_000
let closed: number
beforeAll(async () => {
  mute = createServer((socket) => socket.on('data', () => vi.advanceTimersByTimeAsync(TIMEOUT_MS))).listen(
    0,
    '127.0.0.1',
  )
  await once(mute, 'listening')
  closed = await freePort()
})
afterAll(() => {
  mute.close()
})

/** The form of all failures. */
function failsWell({ exitCode, out, err }: Ran): void {
  expect([0, 1, 2, 3, 99]).toContain(exitCode)
  const said = `${out}${err}`
  expect(said).not.toMatch(/\n\s+at |Error:|undefined|\[object/)
  expect(said).not.toContain('pa55word')
  if (exitCode !== 0) expect(said).toMatch(/\S/)
}

describe('one sentence for', () => {
  test.each<[string, () => readonly string[], number, string]>([
    ['an unknown command', () => ['chek'], 2, 'Did you mean check?'],
    ['an unknown option', () => ['check', path('p.json'), '--json=1'], 2, 'unknown option'],
    ['a value that is missing', () => ['replay', log, '--policy'], 2, 'argument missing'],
    ['a file without a name', () => ['replay', '', ...policy], 2, 'the name of a file is empty'],
    [
      'a prefix without a server',
      () => ['check', path('p.json'), '--prefix', 'app'],
      2,
      'name the server with --redis, or leave out --prefix',
    ],
    ['policies without a name', () => ['check', ''], 2, 'the name of a file is empty'],
    ['a directory of policies', () => ['check', path('')], 2, 'it is a directory'],
    ['policies that are empty', () => ['check', path('empty.json')], 1, 'is not JSON'],
    ['policies of bytes', () => ['check', path('bytes.json')], 1, 'is not JSON'],
    ['policies from an endless file', () => ['replay', log, '--policy', path('deep.json')], 1, 'is not JSON'],
    ['no policies', () => ['check', path('list.json')], 1, 'rules must not be empty'],
    ['a report that has no folder', () => ['replay', log, ...policy, '--html', path('no/x')], 1, 'cannot be written'],
    ['a report on a full disk', () => ['replay', log, ...policy, '--html', '/dev/full'], 1, 'no space left'],
    [
      'denied requests to a missing folder',
      () => ['replay', log, ...policy, '--denials', path('no/x')],
      1,
      'cannot be written',
    ],
    [
      'denied requests on a full disk',
      () => ['replay', path('busy.log'), ...policy, '--denials', '/dev/full'],
      1,
      'no space left',
    ],
    // Reproduces a bug: the log was overwritten.
    ['denied requests over the log', () => ['replay', log, ...policy, '--denials', path('./a.log')], 2, 'used twice'],
    ['a report over the log', () => ['replay', log, ...policy, '--html', log], 2, 'used twice'],
    ['a report over the policies', () => ['replay', log, ...policy, '--html', path('p.json')], 2, 'used twice'],
    [
      'two results in one new file',
      () => ['replay', log, ...policy, '--html', path('new'), '--denials', path('./new')],
      2,
      'used twice',
    ],
    ['suggestions over the log', () => ['suggest', log, '--output', log], 2, 'used twice'],
    ['suggestions that have no folder', () => ['suggest', log, '--output', path('no/x')], 1, 'cannot be written'],
    ['too many proxies', () => ['replay', log, ...policy, '--trust-proxy', '65'], 2, '--trust-proxy'],
    ['a prefix of too few bits', () => ['replay', log, ...policy, '--ipv6-prefix', '8'], 2, 'from 32 to 128'],
    ['half a key', () => ['replay', log, ...policy, '--max-keys', '0.5'], 2, '--max-keys'],
    // These options were renamed; the names are too different for commander's own suggestions.
    [
      'a threshold by its old name',
      () => ['suggest', log, '--refuse-at-most', '1%'],
      2,
      'Did you mean --deny-at-most?',
    ],
    ['a threshold by its old name and =', () => ['suggest', '--refuse-at-most=1%'], 2, 'Did you mean --deny-at-most?'],
    [
      'denied requests by the old name',
      () => ['replay', log, ...policy, '--refusals', 'x'],
      2,
      'Did you mean --denials?',
    ],
    [
      'a negative share',
      () => ['replay', log, ...policy, '--deny-at-most', '-1%'],
      2,
      '--deny-at-most is a percentage',
    ],
    [
      'fields of a format without fields',
      () => ['replay', log, ...policy, '--format', 'common', '--field', 'ip=x'],
      2,
      'has none',
    ],
    [
      'a port out of range',
      () => ['inspect', 'redis://u:pa55word@h:99999', '192.0.2.1', ...policy],
      2,
      'check that its port is 1 to 65535',
    ],
    ['a stray %', () => ['inspect', 'redis://u:pa55word%zz@h', '192.0.2.1', ...policy], 2, 'write %25'],
    ['one for PostgreSQL', () => ['inspect', 'postgres://u:pa55word%zz@h/x', '192.0.2.1', ...policy], 2, 'write %25'],
    // A number before the character was taken for the port, and the rest of the password was printed.
    ...[
      'redis://u:55/pa55word@h',
      'redis://u:55?pa55word@h',
      'redis://u:55#pa55word@h',
      'postgres://u:55/pa55word@h/x',
      'postgres://u:55?pa55word@h',
    ].map((url): [string, () => string[], number, string] => [
      `a password with ${url.replace(/^.*:55|pa55word.*$/g, '')} for ${url.slice(0, 5)}`,
      () => ['inspect', url, '192.0.2.1', ...policy],
      2,
      'write %2F for /, %3F for ? and %23 for #',
    ]),
    [
      'an invalid database',
      () => ['inspect', 'redis://u:pa55word@h/x', '192.0.2.1', ...policy],
      2,
      'the number of a database',
    ],
    ['no store at all', () => ['inspect', 'u:pa55word@h', '192.0.2.1', ...policy], 2, 'a store is redis://'],
    [
      'an invalid table',
      () => ['inspect', 'postgres://h/x', '192.0.2.1', ...policy, '--table', 'a"b'],
      2,
      'table must be',
    ],
    ['an invalid prefix', () => ['inspect', 'redis://h', '192.0.2.1', ...policy, '--prefix', ''], 2, 'prefix'],
    [
      'a server that rejects connections',
      () => ['inspect', `redis://127.0.0.1:${closed}`, '192.0.2.1', ...policy],
      1,
      'ECONNREFUSED',
    ],
    [
      'a database that rejects connections',
      () => ['inspect', `postgres://127.0.0.1:${closed}/x`, '192.0.2.1', ...policy],
      1,
      'ECONNREFUSED',
    ],
    ['a key that is cut off', () => ['reset', 'redis://h', ...policy, '--yes'], 2, "missing required argument 'key'"],
  ])('%s', async (_, args, exitCode, message) => {
    const ran = await spillway(args())
    failsWell(ran)
    expect([ran.exitCode, `${ran.out}${ran.err}`]).toEqual([exitCode, expect.stringContaining(message)])
  })

  test.each([
    ['redis', 'Command timed out'],
    ['postgres', 'no connection of the pool was opened in time'],
  ])('a %s server that never answers', async (protocol, reason) => {
    const { port } = mute.address() as { port: number }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    // The limiter's own report of the failure would be another sentence.
    const warn = vi.spyOn(console, 'warn')
    const ran = await spillway(['inspect', `${protocol}://127.0.0.1:${port}/0`, '192.0.2.1', ...policy])
    failsWell(ran)
    expect(warn).not.toHaveBeenCalled()
    const message = new RegExp(`${protocol}://127.0.0.1:${port} fails: .*${reason}`)
    expect([ran.exitCode, ran.err]).toEqual([1, expect.stringMatching(message)])
  })

  test('a server that wants a password', async () => {
    const server = await startRedis({ settings: { requirepass: 'other' } })
    const at = (user: string) =>
      spillway(['inspect', `redis://${user}127.0.0.1:${server.port}`, '192.0.2.1', ...policy])
    const [none, wrong] = [await at(''), await at(':pa55word@')]
    await server.stop()
    failsWell(wrong)
    expect([none.exitCode, none.err]).toEqual([1, expect.stringContaining('NOAUTH')])
    expect([wrong.exitCode, wrong.err]).toEqual([1, expect.stringContaining('WRONGPASS')])
  })

  // Root may read any file, but follows no endless link.
  test('policies that cannot be read', async () => {
    symlinkSync(path('endless.json'), path('endless.json'))
    const ran = await spillway(['check', path('endless.json')])
    failsWell(ran)
    expect([ran.exitCode, ran.err]).toEqual([2, expect.stringContaining('endless.json cannot be read: ELOOP')])
  })
})

test('arguments in any order and number end in an exit code', async () => {
  const words = fc.constantFrom(
    ...['replay', 'suggest', 'check', 'inspect', 'reset', 'help'],
    ...['--policy', '--html', '--json', '--denials', '--deny-at-most', '--unreadable-at-most', '--key', '--max-keys'],
    ...['--format', '--field', '--trust-proxy', '--ipv6-prefix', '--per', '--strict', '--yes', '--table', '--schema'],
    ...['--prefix', '--hash-keys-from', '--help', '--nope', '-x', '--', '-', ''],
    ...['0', '-1', '1e999', '9007199254740993', '1%', 'ip', 'ip=a..b', 'time=__proto__', 'header:', 'claim:__proto__'],
    ...['a.log', 'p.json', 'list.json', 'odd.json', 'null.json', 'deep.json', 'none.json'].map(path),
    ...[
      'json',
      'second',
      'constructor',
      'redis://u:pa55word@h:99999',
      'postgres://u:pa55word%@h',
      'redis://h/x',
      'a\0b',
    ],
  )
  const starts = fc.constantFrom<readonly string[]>(
    [],
    ['replay', log, ...policy],
    ['suggest', log],
    ['check', path('p.json')],
    ['inspect', 'redis://u:pa55word%@h', '192.0.2.1', ...policy],
    ['reset', 'postgres://u:pa55word@h:99999', '192.0.2.1', ...policy],
  )
  await fc.assert(
    fc.asyncProperty(starts, fc.array(words, { maxLength: 5 }), async (start, more) => {
      // Any word may be the name of a report, which must not be written.
      const named = [...start, ...more].some((word) => ['--html', '--denials', '--output'].includes(word))
      if (!named) failsWell(await spillway([...start, ...more]))
    }),
    { numRuns: 400 },
  )
})

test('a terminal without input says what it waits for', async () => {
  const stdin = Object.assign(Readable.from([]), { isTTY: true })
  const { err } = await spillway(['replay', '-', ...policy], { stdin })
  expect(err).toContain('waiting for the lines of a log on standard input; Ctrl+D ends it')
  const without = await spillway(['replay', ...policy], { stdin })
  expect([without.exitCode, without.err]).toEqual([
    2,
    expect.stringContaining('no log is given: name one, or pipe one'),
  ])
})

test('help has the exit codes, and an example of every command', async () => {
  const { out } = await spillway(['--help'])
  for (const code of [0, 1, 2, 3, 99]) expect(out).toMatch(new RegExp(`^  ${code} +\\S`, 'm'))
  for (const command of ['replay', 'suggest', 'inspect', 'reset', 'check', 'export']) {
    expect((await spillway([command, '--help'])).out).toMatch(new RegExp(`Examples?:\n.*spillway ${command} `))
  }
})

test('names what an unknown part of a policy may have meant', async () => {
  const policies = folderOf({
    // cspell:disable-next-line
    'p.json': JSON.stringify([
      bucket('p', { limit: 1, per: '1m', brust: 1 }),
      { ...bucket('q', {}), algorithm: 'token_buket' },
    ]),
  })
  const { out } = await spillway(['check', policies.path('p.json')])
  expect(out).toMatch(/Did you mean .burst/)
  expect(out).toMatch(/Did you mean .token_bucket/)
  policies.remove()
})

describe('the program itself', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const program = ['--import', join(root, 'bench/built.mjs'), join(root, 'packages/cli/build/program/main.js')]
  beforeAll(() => {
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-b', join(root, 'packages/cli')])
  })

  test('checks the threshold even if its reader stops', async () => {
    // `spillway replay … | head` used to exit with 0.
    const args = ['replay', path('busy.log'), ...policy, '--deny-at-most', '0%']
    const child = spawn(process.execPath, [...program, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    child.stdout.destroy()
    expect(await once(child, 'close')).toEqual([99, null])
  })

  test('reports that its output cannot be written', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [...program, 'check', path('p.json')], { stdio: ['ignore', full, 'pipe'] })
    const said: Buffer[] = []
    child.stderr?.on('data', (chunk: Buffer) => said.push(chunk))
    const [code] = await once(child, 'close')
    closeSync(full)
    expect([code, Buffer.concat(said).toString()]).toEqual([
      1,
      expect.stringMatching(/^spillway: .*no space left.*\n$/),
    ])
  })
})
