// Where the processor time of a request goes: what a limiter can save, and what it cannot.

import type { apps } from './apps.ts'
import { serverOf } from './http.ts'
import { OWNERS } from './owners.ts'
import { type Case, exactly, type Table } from './table.ts'

const WARMING = 10_000
const REQUESTS = 40_000

const cased =
  <F extends keyof typeof apps>(framework: F, names: readonly (keyof (typeof apps)[F] & string)[]): Case =>
  async (progress) => {
    const rows: Table['rows'][number][] = []
    for (const name of names) {
      const server = await serverOf(framework, name)
      await server.cost(WARMING)
      const micros = await server.profile(REQUESTS)
      server.stop()
      rows.push({ name, figures: OWNERS.map((owner) => exactly(micros[owner] / REQUESTS)) })
      progress(rows.length / names.length)
    }
    return {
      title: `Where a request spends its time in ${framework[0]?.toUpperCase()}${framework.slice(1)}`,
      how: 'Microseconds of processor time a request, by whose code runs, from samples of the server’s process. To be sampled makes everything slower, so that they are more than in the tables above.',
      columns: OWNERS,
      rows,
      aims: [],
    }
  }

/** Servers are processes of their own, so that one process that asks them is enough. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = {
  express: cased('express', [
    'no limiter',
    'by hand, draft-6',
    'spillway, draft-6',
    'express-rate-limit, draft-6',
    'by hand, refusing',
    'spillway, refusing',
    'express-rate-limit, refusing',
  ]),
  koa: cased('koa', [
    'no limiter',
    'by hand, legacy',
    'spillway, legacy',
    'koa-ratelimit',
    'by hand, refusing',
    'spillway, refusing',
    'koa-ratelimit, refusing',
  ]),
  hono: cased('hono', [
    'no limiter',
    'by hand, draft-6',
    'spillway, draft-6',
    'hono-rate-limiter, draft-6',
    'by hand, refusing',
    'spillway, refusing',
    'hono-rate-limiter, refusing',
  ]),
}
