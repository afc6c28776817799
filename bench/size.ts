// The size of a bundle: what a limiter adds to the code of an app.

import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'
import { adapter, type Bundle, bundleOf as bundle } from '../test/packages/bundle.ts'
import { builds } from './built.mjs'
import { type Case, exactly, type Row, type Table } from './table.ts'

const HONO = 'spillway, Hono'
const LIMITER = 'spillway, a limiter in memory'

/** What an app imports, by row. */
const USES: Readonly<Record<string, string>> = {
  [LIMITER]: "export { perMinute, rateLimiter } from '@spillway/memory'",
  [HONO]: adapter('hono'),
  'spillway, Express': adapter('express'),
  'spillway, Koa': adapter('koa'),
  'spillway, Fastify': adapter('fastify'),
  'spillway/compat, Express': "export { rateLimit } from '@spillway/express/compat'",
  limiter: "export { TokenBucket } from 'limiter'",
  'hono-rate-limiter': "export { rateLimiter } from 'hono-rate-limiter'",
  hitlimit: "export { hitlimit } from '@joint-ops/hitlimit'",
  'koa-ratelimit': "export { default } from 'koa-ratelimit'",
  '@fastify/rate-limit': "export { default } from '@fastify/rate-limit'",
  'rate-limiter-flexible': "export { RateLimiterMemory } from 'rate-limiter-flexible'",
  'express-rate-limit': "export { rateLimit } from 'express-rate-limit'",
}

/** Bundles the published code. Its `package.json` says that modules without a used import can be dropped. */
const published: Plugin = {
  name: 'published',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^@spillway\// }, ({ path }) => ({
      path: fileURLToPath(builds[path] as string),
      sideEffects: false,
    })),
}

const bundleOf = (use: string): Promise<Bundle> =>
  bundle(import.meta.dirname, USES[use] as string, { plugins: [published] })

const GZIPPED = 'bytes, gzipped'

async function bundles(progress: (share: number) => void): Promise<Table> {
  const rows: Row[] = []
  for (const name of Object.keys(USES)) {
    rows.push({ name, figures: [exactly((await bundleOf(name)).size)] })
    progress(rows.length / Object.keys(USES).length)
  }
  return {
    title: 'The size of a bundle',
    how: 'What an app’s bundle grows by, minified by esbuild with all imports. Node’s modules are not in it.',
    columns: [GZIPPED],
    rows,
    targets: [
      { ours: HONO, column: GZIPPED, atMost: 18_000 },
      { ours: LIMITER, column: GZIPPED, atMost: 6_000 },
    ],
  }
}

/** The folder of a module: of core its own, of other packages all in one. */
function folderOf(path: string): string | undefined {
  const [, name = '', folder = ''] = /packages\/(\w+)\/build\/((?:http\/)?\w+)/.exec(path) ?? []
  return name === 'core' ? `core, ${folder}` : name || undefined
}

async function folders(): Promise<Table> {
  const { modules } = await bundleOf(HONO)
  const bytes = new Map<string, number>()
  for (const [path, size] of Object.entries(modules)) {
    const folder = folderOf(path)
    if (folder !== undefined && size > 0) bytes.set(folder, (bytes.get(folder) ?? 0) + size)
  }
  const rows = [...bytes].toSorted(([, a], [, b]) => b - a)
  return {
    title: 'The parts of a bundle: rateLimit and perMinute for Hono',
    how: 'Where the code of the bundle is from. Before it is compressed, as what compression saves depends on the whole.',
    columns: ['bytes, minified'],
    rows: rows.map(([name, size]) => ({ name, figures: [exactly(size)] })),
    targets: [],
  }
}

/** The same code has the same size. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = { bundles, folders }
