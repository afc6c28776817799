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
