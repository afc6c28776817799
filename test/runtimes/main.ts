import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Start, starts } from '../packages/start.ts'
import { startPostgres } from '../services/postgres.ts'
import { startRedis } from '../services/redis.ts'
import { compileUser } from './compilers.ts'
import { type First, firstDenial, firstsText } from './firsts.ts'
import { installed } from './installs.ts'
import { inJest } from './jest.ts'
import { inMetaFrameworks } from './meta.ts'
import { readTable, writeTable } from './page.ts'
import { inPrisma } from './prisma.ts'
import { makeProject } from './project.ts'
import { startRegistry } from './registry.ts'
import { inRuntime, inWorkerd } from './rows.ts'
import { runtimes } from './runtimes.ts'
import { haveSameResults, type Row, tableOf } from './table.ts'

// `npm run test:runtimes`: the packages as they would be published, installed by npm, in every runtime that they are
// for. With `--write` what was run goes to docs/runtimes.md.

const servesHttp = ({ name }: Start): boolean => name !== 'No HTTP'

const folder = mkdtempSync(join(tmpdir(), 'spillway-runtimes-'))
const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
const { host, user, database } = postgres.config
const env = { REDIS_PORT: String(redis.port), PGHOST: host, PGUSER: user, PGDATABASE: database }
try {
  const tarballs = await makeProject(folder)
  const registry = await startRegistry(tarballs)
  const installs = await installed(folder, registry)
  const firsts: First[] = []
  for (const start of starts().filter(servesHttp)) firsts.push(await firstDenial(start, folder, registry))
  const all = runtimes()
  // The newest lines of some frameworks do not support the oldest Node that we support.
  const node = all.find(({ name }) => name.startsWith('Node 24'))
  if (node === undefined) throw new Error('Frameworks need Node 24.')
  const apps = await inMetaFrameworks(folder, registry, node.program)
  const prisma = await inPrisma(folder, registry, node, env)
  registry.stop()
  const jest = inJest(folder, tarballs)
  const types = compileUser(folder)
  const rows: Row[] = []
  for (const runtime of all) rows.push(await inRuntime(runtime, folder, env))
  rows.push(await inWorkerd(folder))
  const table = tableOf(rows, types, installs.managers, jest.runners, apps.names)
  console.log(table)
  console.log(firstsText(firsts))
  const failures = [
    ...rows.flatMap(({ failures }) => failures),
    ...types.failures,
    ...installs.failures,
    ...jest.failures,
    ...apps.failures,
    ...prisma,
  ]
  const passed = failures.length === 0
  if (passed && process.argv.includes('--write')) writeTable(table)
  else if (passed && !haveSameResults(readTable(), table))
    failures.push('The table in docs/runtimes.md differs from these results: --write')
  for (const failure of failures) console.error(`✗ ${failure}`)
  process.exitCode = failures.length === 0 ? 0 : 1
} finally {
  await Promise.all([redis.stop(), postgres.stop()])
  rmSync(folder, { recursive: true, force: true })
}
