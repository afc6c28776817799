import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Problem, problemsOf } from './docs/check.ts'
import type { Sample } from './docs/samples.ts'

// The tables of the migration pages: what they name of ours is compiled and run, and of theirs nothing is left out.

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = readdirSync(join(root, 'docs/migration')).map((name) => `docs/migration/${name}`)

interface Row {
  readonly line: number
  readonly theirs: string
  readonly ours: string
}

interface Table {
  readonly heading: string
  readonly rows: readonly Row[]
}

/** The tables below headings of the second level, each with the code in its first two columns. */
function tablesOf(page: string): readonly Table[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n')
  const tables: { heading: string; rows: Row[] }[] = []
  let heading = ''
  for (const [i, line] of lines.entries()) {
    if (line.startsWith('## ')) heading = line.slice(3)
    if (!line.startsWith('|')) continue
    const cells = line.slice(1).split('|')
    if (/^[\s:-]+$/.test(cells[0] ?? '')) continue
    const [theirs = '', ours = ''] = cells.map((cell) => /`([^`]+)`/.exec(cell)?.[1] ?? '')
    if (lines[i - 1]?.startsWith('|')) tables.at(-1)?.rows.push({ line: i + 1, theirs, ours })
    else tables.push({ heading, rows: [] })
  }
  return tables
}

/** How a page's options are used, and where types say which options they have. */
const USES: Readonly<Record<string, { prelude: string; use: (options: string) => string; options?: string }>> = {
  'express-rate-limit': {
    prelude: 'express',
    use: (options) => `app.use(rateLimit({ ${options} }))`,
    options: `import('express-rate-limit').Options`,
  },
  'rate-limiter-flexible': {
    prelude: 'limiter',
    use: (options) => `rateLimiter({ ${options} })`,
    options: `import('rate-limiter-flexible').IRateLimiterRedisOptions & import('rate-limiter-flexible').IRateLimiterPostgresOptions & import('rate-limiter-flexible').IRateLimiterClusterOptions`,
  },
  'hono-rate-limiter': {
    prelude: 'hono',
    use: (options) => `app.use(rateLimit({ ${options} }))`,
    options: `(NonNullable<Parameters<typeof import('hono-rate-limiter').rateLimiter>[0]> extends infer Each ? Each extends unknown ? Record<keyof Each, unknown> : never : never) extends infer Each ? (Each extends unknown ? (each: Each) => void : never) extends (all: infer All) => void ? All : never : never`,
  },
  'nestjs-throttler': {
    prelude: 'nestjs',
    use: (options) => `RateLimitModule.forRoot({ ${options} })`,
    options: `Exclude<import('@nestjs/throttler').ThrottlerModuleOptions, unknown[]> & import('@nestjs/throttler').ThrottlerOptions`,
  },
  'fastify-rate-limit': {
    prelude: 'fastify',
    use: (options) => `app.addHook('onRequest', rateLimit({ ${options} }))`,
    options: `import('@fastify/rate-limit').RateLimitPluginOptions`,
  },
  'koa-ratelimit': { prelude: 'koa', use: (options) => `app.use(rateLimit({ ${options} }))` },
  'upstash-ratelimit': {
    prelude: 'limiter',
    use: (options) => `rateLimiter({ ${options} })`,
    options: `ConstructorParameters<typeof import('@upstash/ratelimit').Ratelimit>[0]`,
  },
}

const nameOf = (page: string): string => /([^/]+)\.md$/.exec(page)?.[1] ?? ''

/** Each table as one module, in which every row has a line of its own. */
function sampleOf(page: string, { rows }: Table): Sample {
  const { prelude, use } = USES[nameOf(page)] as (typeof USES)[string]
  const first = rows[0]?.line ?? 0
  const code: string[] = []
  for (const { line, ours } of rows) code[line - first] = statementOf(ours, use)
  return { document: page, line: first, code: Array.from(code, (each) => each ?? '').join('\n'), prelude }
}

function statementOf(ours: string, use: (options: string) => string): string {
  if (ours === '') return ''
  if (!/^\w+: /.test(ours)) return `void (${ours});`
  return `${use(/^quotas?: /.test(ours) ? ours : `quota: perMinute(100), ${ours}`)};`
}

/** A module that compiles only if a table names all of their options, and no others. */
const namesAll = (page: string, { rows }: Table, options: string): Sample => {
  const names = rows.map(({ theirs }) => `${theirs}: true`)
  const code = `type Theirs = ${options}\nexport const all: Record<keyof Theirs, true> = { ${names.join(', ')} }`
  return { document: page, line: (rows[0]?.line ?? 1) - 1, code, prelude: undefined }
}

describe('the tables of', () => {
  let problems: readonly Problem[]

  beforeAll(async () => {
    problems = await problemsOf(
      pages.flatMap((page) => {
        const tables = tablesOf(page)
        const { options } = USES[nameOf(page)] as (typeof USES)[string]
        const samples = tables.map((table) => sampleOf(page, table))
        return options === undefined ? samples : [...samples, namesAll(page, tables[0] as Table, options)]
      }),
    )
  })

  test.each(pages)('%s name what there is, and all of it', (page) => {
    expect(problems.filter(({ document }) => document === page)).toEqual([])
  })
})

test('the page for koa-ratelimit, which has no types, names every option that its sources read', () => {
  const path = dirname(createRequire(import.meta.url).resolve('koa-ratelimit'))
  const [middleware, ...limiters] = ['index.js', 'limiter/memory.js', 'limiter/redis.js'].map((name) =>
    readFileSync(join(path, name), 'utf8'),
  )
  const defaults = /const defaultOpts = \{(.*?)\n {2}\};/s.exec(middleware ?? '')?.[1] ?? ''
  const read = [
    ...[...(middleware ?? '').matchAll(/\bopts\.(\w+)/g)].map(([, name]) => name),
    ...[...defaults.matchAll(/^ {4}(\w+):/gm)].map(([, name]) => name),
    ...limiters.flatMap(
      (source) => (/constructor\(\{(.*?)\}\)/.exec(source)?.[1] ?? '').match(/\b\w+(?=,| =| $)/g) ?? [],
    ),
  ]
  const named = tablesOf('docs/migration/koa-ratelimit.md')[0]?.rows.map(({ theirs }) => theirs)
  expect(new Set(named)).toEqual(new Set(read))
})

test('every page is checked, and has a table', () => {
  expect(pages.map(nameOf).sort()).toEqual(Object.keys(USES).sort())
  for (const page of pages) expect(tablesOf(page)[0]?.rows.length, page).toBeGreaterThan(5)
})
