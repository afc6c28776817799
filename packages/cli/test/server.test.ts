import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startRedis } from '../../../test/services/redis.ts'
import { reportOf } from '../src/live/server.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

describe('spillway check --redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>
  let redis: Redis
  let url: string
  const folder = folderOf({ 'p.json': JSON.stringify([bucket('p', { rps: 10, burst: 20 })]) })
  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis(server.port, '127.0.0.1')
    url = `redis://127.0.0.1:${server.port}`
  })
  afterAll(async () => {
    redis.disconnect()
    folder.remove()
    await server.stop()
  })
  const setMemory = async (maxmemory: number, policy: string): Promise<void> => {
    await redis.config('SET', 'maxmemory', maxmemory, 'maxmemory-policy', policy)
  }
  const checked = async (...args: string[]) => {
    const { exitCode, out } = await spillway(['check', '--redis', url, '--json', ...args])
    const { ok, server } = JSON.parse(out)
    return { exitCode, ok, server, codes: server.traps.map(({ code }: { code: string }) => code) }
  }

  test.each<[policy: string, maxmemory: number, codes: string[], strict: number]>([
    ['noeviction', 0, [], 0],
    ['allkeys-lru', 0, [], 0],
    ['noeviction', 1e9, ['fails-when-full'], 0],
    ['volatile-ttl', 1e9, ['evicts-soonest-full'], 0],
    ...['allkeys-lru', 'allkeys-lfu', 'allkeys-random', 'volatile-lru', 'volatile-lfu', 'volatile-random'].map(
      (policy): [string, number, string[], number] => [policy, 1e9, ['evicts-limited-keys'], 1],
    ),
  ])('%s with a maxmemory of %i', async (policy, maxmemory, codes, strict) => {
    await setMemory(maxmemory, policy)
    const report = await checked()
    const server = { maxmemory, maxmemoryPolicy: policy }
    expect(report).toMatchObject({ exitCode: 0, ok: true, codes: [...codes, 'silent-connection'], server })
    expect(await checked('--strict')).toMatchObject({ exitCode: strict, ok: strict === 0 })
  })

  test('shows it, beside policies, and leaves nothing behind', async () => {
    await setMemory(0, 'noeviction')
    const { exitCode, out } = await spillway(['check', folder.path('p.json'), '--redis', url])
    expect(exitCode).toBe(0)
    expect(out).toMatch(/^✓ .*p\.json\n {2}p .*\n\n✓ redis:.*\n {2}(Redis|Valkey) [\d.]+, maxmemory 0 \(no limit\), /)
    // The check cannot see the app's client.
    expect(out).toContain(
      '! silent-connection: a client keeps a connection that goes silent, unless it has `socketTimeout`',
    )
    expect(await redis.dbsize()).toBe(0)
  })

  test.each<[what: string, rights: string[], error: RegExp]>([
    ['scripts', ['~*', '+@all', '-@scripting'], /NOPERM/],
    ['the keys of the prefix', ['~other:*', '+@all'], /NOPERM|No permissions/],
  ])('fails for a user without %s', async (_, rights, error) => {
    await redis.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>pa55word', ...rights)
    const ran = await spillway(['check', '--redis', url.replace('//', '//app:pa55word@')])
    expect([ran.exitCode, ran.out]).toEqual([1, expect.stringMatching(error)])
    expect(ran.out).toMatch(/^✗ redis:\/\/127\.0\.0\.1:\d+ limits no key: /)
    expect(`${ran.out}${ran.err}`).not.toContain('pa55word')
  })

  test('reports that the memory settings are unknown without INFO', async () => {
    await redis.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>pa55word', '~*', '+@all', '-info')
    const args = ['check', '--redis', url.replace('//', '//app:pa55word@'), '--strict']
    const { exitCode, out } = await spillway(args)
    expect([exitCode, out]).toEqual([1, expect.stringContaining('! eviction-unknown')])
  })

  test('fails where writes do', async () => {
    await setMemory(1, 'noeviction')
    const { exitCode, out } = await spillway(['check', '--redis', url])
    await setMemory(0, 'noeviction')
    expect([exitCode, out]).toEqual([1, expect.stringContaining('OOM')])
  })

  test('accepts only a Redis server', async () => {
    const { exitCode, err } = await spillway(['check', '--redis', 'postgres://u:pa55word@h/x'])
    expect([exitCode, err]).toEqual([2, 'spillway: a store is redis://… or rediss://…; got "postgres:".\n'])
  })
})

test.each<[string, string | null, string[]]>([
  ['redis_version:5.0.14\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n', 'Redis 5.0.14', ['old-server']],
  ['redis_version:6.0.9\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n', 'Redis 6.0.9', []],
  [
    'redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n',
    'Valkey 8.1.0',
    [],
  ],
  ['', null, ['eviction-unknown']],
])('%j is understood', (info, version, codes) => {
  const report = reportOf(info)
  expect([report.version, report.traps.map(({ code }) => code)]).toEqual([version, codes])
})
