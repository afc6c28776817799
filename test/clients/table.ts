import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../packages/pack.ts'
import { bunClients } from '../runtimes/bun.ts'
import { adaptedClients, poolClients } from './postgres.ts'
import { redisClients } from './redis.ts'

// The table of clients in docs/guides/stores.md.

const BLOCK = /<!-- clients -->\n\n([\s\S]*?)\n<!-- \/clients -->/

/** The table that the page has. */
export function readBlock(): string {
  return BLOCK.exec(readFileSync(join(root, 'docs/guides/stores.md'), 'utf8'))?.[1] ?? ''
}

const require = createRequire(import.meta.url)

/** The version of an installed package, which may not export its manifest. */
function versionOf(name: string): string {
  const folder = (require.resolve.paths(name) ?? []).map((path) => join(path, name, 'package.json'))
  for (const path of folder) {
    try {
      return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
    } catch {} // not there
  }
  throw new Error(`${name} is not installed`)
}

/** The table of what is tested. */
export function tableOfClients(): string {
  const rows = (store: string, how: string, clients: Readonly<Record<string, object>>): string[][] =>
    Object.entries(clients).map(([client, versions]) => [
      client,
      Object.keys(versions).map(versionOf).join(', '),
      store,
      how,
    ])
  const bun = (store: keyof typeof bunClients, how: string): string[] => [bunClients[store], '1', `\`${store}\``, how]
  const table = [
    ['client', 'tested versions', 'store', 'is passed'],
    ...rows('`redisStore`', 'as it is', redisClients),
    bun('redisStore', 'as it is'),
    ...rows('`postgresStore`', 'its pool', poolClients),
    ...rows('`postgresStore`', 'by an adapter', adaptedClients),
    bun('postgresStore', 'by an adapter'),
    ['Prisma', '7', '`postgresStore`', 'by an adapter'], // by `npm run test:runtimes`, too
  ]
  const widths = [0, 1, 2, 3].map((i) => Math.max(...table.map((row) => row[i]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |\n`
  const [head = [], ...body] = table
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('')
}
