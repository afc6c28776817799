import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { migrate } from '../src/index.ts'

// The guide calls the function from Python and Java. The drivers are not installed: the statements run, the Java compiles.

const guide = readFileSync(new URL('../../../docs/guides/languages.md', import.meta.url), 'utf8')
const [, java = ''] = /```java\n(try [\s\S]*?)```/.exec(guide) ?? []
const [, python = ''] = /```python\n(with psycopg[\s\S]*?)```/.exec(guide) ?? []

let server: Postgres
let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool(server.config)
  await migrate(pool)
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

/** The statement in quotes in a sample, with the placeholders of `pg`. */
const statementOf = (sample: string): string => {
  const [, text = ''] = /"(SELECT [^"]*)"/.exec(sample) ?? []
  let place = 0
  return text.replace(/\?|%s/g, () => `$${++place}`)
}

test('the statements of the guide take the arguments of the guide', async () => {
  const both = [
    await pool.query(statementOf(java), ['user:42', 100, '1 minute']),
    await pool.query(statementOf(python), ['user:42', 100, '1 minute', 5]),
  ]
  expect(both.map(({ rows }) => [rows[0].allowed, rows[0].retry_after_ms])).toEqual([
    [true, 0],
    [true, 0],
  ])
  expect(both[1]?.fields.map(({ name }) => name)).toEqual(/allowed.*?(?= =)/.exec(python)?.[0].split(', '))
})

const hasJava = spawnSync('javac', ['-version']).status === 0

test.skipIf(!hasJava)(
  'the Java of the guide compiles with the JDBC of the JDK',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-java-'))
    const source = `import java.sql.*;
class Guide {
  static class RateLimited extends RuntimeException { RateLimited(double retryAfterMs) {} }
  void run(Connection connection) throws SQLException {
    ${java}
  }
}`
    writeFileSync(join(folder, 'Guide.java'), source)
    expect(execFileSync('javac', ['-d', folder, join(folder, 'Guide.java')], { encoding: 'utf8' })).toBe('')
    rmSync(folder, { recursive: true })
  },
  120_000,
)
