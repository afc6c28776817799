import { perMinute, rateLimiter } from '@spillway/core'
import { Cluster, Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Redis as Server, startRedis } from '../../../test/services/redis.ts'
import { type RedisClient, redisStore } from '../src/index.ts'

let server: Server
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const open: Redis[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.disconnect()
})

/** A client that has not connected. */
function ioredis(options: object): Redis {
  const made = new Redis({ lazyConnect: true, ...options })
  open.push(made)
  return made
}

const nodeRedis = (port: number) => createClient({ socket: { port } })

/** What two limiters warn of, each on a client of its own. */
function warningsOf(clients: readonly RedisClient[], [one, other]: readonly [object, object], options = {}): string[] {
  const warnings: string[] = []
  const logger = { warn: (message: string) => void warnings.push(message) }
  const [first, second = first] = clients as [RedisClient]
  const build = (client: RedisClient, own: object): unknown =>
    rateLimiter({ quota: perMinute(10), store: redisStore(client, options), logger, ...own })
  build(first, one)
  build(second, other)
  return warnings
}

let number = 0
const host = (): string => `h${++number}.example`

// They counted as one in silence: 10 requests of both routes together, where memory allows 10 of each.
describe('two clients of one server', () => {
  test.each<[string, (host: string) => readonly RedisClient[]]>([
    ['a duplicate', (host) => [ioredis({ host }), ioredis({ host }).duplicate()]],
    ['two of ioredis', (host) => [ioredis({ host, db: 2 }), ioredis({ host: host.toUpperCase(), port: 6379, db: 2 })]],
    ['two libraries', (host) => [ioredis({ host, port: 7 }), createClient({ socket: { host, port: 7 } })]],
    ['a URL', (host) => [createClient({ url: `redis://u:pw@${host}/3` }), ioredis({ host, db: 3 })]],
    ['sentinels', (host) => [1, 2].map(() => ioredis({ sentinels: [{ host, port: 1 }], name: 'main' }))],
    [
      'clusters',
      (host) => [
        new Cluster([{ host, port: 1 }], { lazyConnect: true }),
        new Cluster([`redis://${host}:1`], { lazyConnect: true }),
      ],
    ],
  ])('are compared: %s', (_, clients) => {
    const made = clients(host())
    const [unnamed, ...rest] = warningsOf(made, [{}, {}])
    expect(rest).toEqual([])
    expect(unnamed).toContain('two limiters without a name are on one database, and count as one')
    expect(unnamed).not.toContain('pw')
    const quotas = [{ name: 'a' }, { name: 'a', quota: perMinute(5) }] as const
    expect(warningsOf(made, quotas)).toEqual([
      expect.stringMatching(/named "a" and would count as one, but differ in quota: .* Give each a name of its own/),
    ])
    expect(warningsOf(made, [{ name: 'b' }, { name: 'c' }])).toEqual([])
    expect(warningsOf(made, [{ name: 'd' }, { name: 'd' }])).toEqual([])
  })

  test.each<[string, (host: string) => readonly RedisClient[]]>([
    ['another database', (host) => [ioredis({ host }), ioredis({ host, db: 1 })]],
    ['another port', (host) => [ioredis({ host }), ioredis({ host, port: 1 })]],
    ['another prefix of keys', (host) => [ioredis({ host, keyPrefix: 'a' }), ioredis({ host })]],
    ['another host', () => [ioredis({ host: host() }), ioredis({ host: host() })]],
  ])('are not compared: %s', (_, clients) => {
    expect(warningsOf(clients(host()), [{}, {}])).toEqual([])
  })

  test('that are closed are not compared: an app that is built again, as in tests', async () => {
    const name = host()
    const first = ioredis({ host: name })
    expect(warningsOf([first], [{ name: 'a' }, { name: 'a' }])).toEqual([])
    first.disconnect()
    expect(warningsOf([ioredis({ host: name })], [{ name: 'a', quota: perMinute(5) }, { name: 'b' }])).toEqual([])
  })

  // The remedy of the warning, to close the first client, did not help: node-redis does not say that it was open before.
  test.each<[string, (client: ReturnType<typeof nodeRedis>) => unknown]>([
    ['close', (client) => client.close()],
    ['destroy', (client) => client.destroy()],
    ['disconnect', (client) => client.disconnect()],
    ['quit', (client) => client.quit()],
  ])('of node-redis that are closed are not compared: %s', async (how, close) => {
    const { port } = server
    // Programs build their limiters before they connect, or after.
    for (const when of ['before', 'after']) {
      const name = `${how} ${when}`
      const first = nodeRedis(port)
      first.on('error', () => {})
      if (when === 'after') await first.connect()
      expect(warningsOf([first], [{ name }, { name }])).toEqual([])
      expect(first.listenerCount('end'), 'one for all stores').toBe(1)
      if (when === 'before') await first.connect()
      await close(first)
      const second = nodeRedis(port)
      expect(warningsOf([second], [{ name, quota: perMinute(5) }, { name: `${name}, other` }])).toEqual([])
    }
  })

  test('of ioredis that are closed are not compared: quit', async () => {
    const { port } = server
    const first = new Redis({ port })
    expect(warningsOf([first], [{ name: 'a' }, { name: 'a' }])).toEqual([])
    await first.quit()
    const second = ioredis({ port })
    expect(warningsOf([second], [{ name: 'a', quota: perMinute(5) }, { name: 'b' }])).toEqual([])
  })

  // It threw a TypeError without a code, though both clients work.
  test('with null for the host of this machine are compared', () => {
    const clients = [ioredis({ host: null, port: 7 }), createClient({ socket: { host: null as never, port: 7 } })]
    expect(warningsOf(clients, [{}, {}])).toHaveLength(1)
  })

  test('with prefixes of their own are not compared', () => {
    const name = host()
    const [one, other] = [ioredis({ host: name }), ioredis({ host: name })]
    expect(warningsOf([one], [{}, { name: 'x' }], { prefix: 'one' })).toEqual([])
    expect(warningsOf([other], [{}, { name: 'x' }], { prefix: 'two' })).toEqual([])
  })
})
