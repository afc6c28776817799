// The size of a bundle: what a limiter adds to the code of an app.

import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'
import { adapter, bundleOf } from '../test/packages/bundle.ts'
import { builds } from './built.mjs'
import { type Case, exactly, type Row, type Table } from './table.ts'

const HONO = 'spillway, Hono, lean'
const LIMITER = 'spillway, a limiter in memory, lean'

/** What an app imports, by row. */
const USES: Readonly<Record<string, string>> = {
  'spillway, a limiter in memory': "export { perMinute, rateLimiter } from '@spillway/memory'",
  [LIMITER]:
    "import { rateLimiter } from '@spillway/core/lean'; import { memoryStore, perMinute } from '@spillway/memory/lean'; export const limiter = rateLimiter({ quota: perMinute(100), store: memoryStore() })",
  'spillway, Hono': adapter('hono'),
  [HONO]: adapter('hono/lean'),
  'spillway, Express': adapter('express'),
  'spillway, Express, lean': adapter('express/lean'),
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

const GZIPPED = 'bytes, gzipped'

async function bundles(progress: (share: number) => void): Promise<Table> {
  const rows: Row[] = []
  for (const name of Object.keys(USES)) {
    rows.push({
      name,
      figures: [exactly((await bundleOf(import.meta.dirname, USES[name] as string, { plugins: [published] })).size)],
    })
    progress(rows.length / Object.keys(USES).length)
  }
  return {
    title: 'The size of a bundle',
    how: 'What an app’s bundle grows by, minified by esbuild with all imports. Node’s modules are not in it.',
    columns: [GZIPPED],
    rows,
    targets: [
      { ours: HONO, column: GZIPPED, atMost: 15_000 },
      { ours: LIMITER, column: GZIPPED, atMost: 8_500 },
    ],
  }
}

/** The same code has the same size. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = { bundles }
