import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { perMinute, rateLimiter } from '@spillway/core'
import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { postgresStore } from '../src/index.ts'

/** What two limiters warn of, each on a pool that has not connected. */
function warningsOf(pools: readonly Pool[], options: readonly object[] = [{}, {}], others: object = {}): string[] {
  const warnings: string[] = []
  const logger = { warn: (message: string) => void warnings.push(message) }
  pools.forEach((pool, i) => {
    rateLimiter({ quota: perMinute(10), store: postgresStore(pool, { ...(i > 0 && others) }), logger, ...options[i] })
  })
  return warnings
}

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Collects garbage until something is true: a reference that was read stays until the end of the turn. */
async function collected(isTrue: () => boolean): Promise<void> {
  for (let i = 0; !isTrue(); i++) {
    if (i === 50) throw new Error('it was not collected')
    await new Promise((resolve) => setImmediate(resolve))
    gc()
  }
}

let number = 0
const host = (): string => `h${++number}.example`

// They counted as one in silence: 10 requests of both routes together, where memory allows 10 of each.
describe('two pools of one database', () => {
  test.each<[string, (host: string) => readonly Pool[]]>([
    ['equal options', (host) => [new Pool({ host, database: 'd' }), new Pool({ host, database: 'd', max: 2 })]],
    [
      'a connection string',
      (host) => [
        new Pool({ connectionString: `postgres://u:pw@${host}/d?x=1` }),
        new Pool({ host, port: 5432, database: 'd' }),
      ],
    ],
    ['the database of the user', (host) => [new Pool({ host, user: 'd' }), new Pool({ host, database: 'd' })]],
    [
      'a name with a space',
      (host) => [new Pool({ connectionString: `postgres://${host}/my%20db` }), new Pool({ host, database: 'my db' })],
    ],
  ])('are compared: %s', (_, pools) => {
    const made = pools(host())
    const [unnamed, ...rest] = warningsOf(made)
    expect(rest).toEqual([])
    expect(unnamed).toContain('two limiters without a name are on one database, and count as one')
    expect(unnamed).not.toContain('pw')
    expect(warningsOf(made, [{ name: 'a' }, { name: 'a', quota: perMinute(5) }])).toEqual([
      expect.stringContaining('named "a" and would count as one, but differ in quota'),
    ])
    expect(warningsOf(made, [{ name: 'b' }, { name: 'c' }])).toEqual([])
  })

  // The names were compared by the host of the URL, before which pg takes that of its query.
  test.each<[string, readonly object[]]>([
    [
      'sockets of two servers',
      ['a', 'b'].map((name) => ({ connectionString: `postgresql://u:pw@localhost/db?host=/cloudsql/${name}` })),
    ],
    ['two ports', [6001, 6002].map((port) => ({ connectionString: `postgres://ports.example/d?port=${port}` }))],
    ['two databases', ['a', 'b'].map((db) => ({ connectionString: `socket:/tmp/x?db=${db}` }))],
    ['no string', ['a', 'b'].map((name) => ({ connectionString: '', host: `${name}.none.example`, database: 'd' }))],
  ])('are not compared as one: %s', (_, options) => {
    expect(warningsOf(options.map((each) => new Pool(each)))).toEqual([])
  })

  test('whose options cannot be read are not compared', () => {
    const unreadable = new Proxy(new Pool(), {
      get: (pool, name) => {
        if (name === 'options') throw new Error('no options')
        return Reflect.get(pool, name)
      },
    })
    expect(warningsOf([unreadable, new Pool({ host: 5 as never }), new Pool({ host: 5 as never })])).toEqual([])
  })

  test('are compared without connecting', () => {
    const streams: unknown[] = []
    const stream = (): never => void streams.push('made') as never
    warningsOf([1, 2].map(() => new Pool({ host: host(), stream })))
    expect(streams).toEqual([])
  })

  test('are garbage-collected after they were compared', async () => {
    const refs: WeakRef<Pool>[] = []
    for (let i = 0; i < 20; i++) {
      const pool = new Pool({ host: host() })
      warningsOf([pool])
      refs.push(new WeakRef(pool))
      await pool.end()
    }
    await collected(() => refs.slice(0, -1).every((each) => each.deref() === undefined))
  })

  test('are not compared: another database, another table, a pool that is closed, a text that is no URL', async () => {
    const name = host()
    const closed = new Pool({ host: name, database: 'd' })
    expect(warningsOf([new Pool({ host: name, database: 'c' }), closed])).toEqual([])
    const others = [1, 2].map(() => new Pool({ host: name, database: 'e' }))
    expect(warningsOf(others, [{}, {}], { table: 'others' })).toEqual([])
    await closed.end()
    expect(warningsOf([new Pool({ host: name, database: 'd' })])).toEqual([])
    expect(warningsOf(['a b', '%zz'].map((connectionString) => new Pool({ connectionString })))).toEqual([])
  })
})
