// The CPU time that a limiter adds to a request, in the server's process.

import { fork } from 'node:child_process'
import { answerOf } from './answer.ts'
import { apps } from './apps.ts'
import { type Load, loadOn } from './load.ts'
import type { Owner } from './owners.ts'
import { type Case, figureOf, type Table, type Target } from './table.ts'

const ADDED = 'µs of CPU added'
const IN_ALL = 'µs in total'
const SLICES = 60
const SLICE = 512
/** The number of requests that warm up a server. */
export const WARMING = 10_000

/** A framework's name in titles. */
export const titled = (framework: string): string => framework.replace(/^./, (first) => first.toUpperCase())

interface Server {
  /** Sends requests, and returns the server's CPU time per request, in microseconds. */
  cost(requests: number): Promise<number>
  /** Sends requests, and returns the server's total CPU time by owner of the code, in microseconds. */
  profile(requests: number): Promise<Readonly<Record<Owner, number>>>
  stop(): void
}

/** Starts an app in its own process. */
export async function serverOf(framework: string, name: string): Promise<Server> {
  const child = fork(new URL('server.ts', import.meta.url), [framework, name], {
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const load: Load = await loadOn((await answerOf(child, 'the server')) as number)
  const ask = (question: string): Promise<unknown> => {
    const answer = answerOf(child, 'the server')
    child.send(question)
    return answer
  }
  const used = async (): Promise<number> => (await ask('used')) as number
  return {
    async cost(requests) {
      const before = await used()
      await load.run(requests)
      return ((await used()) - before) / requests
    },
    async profile(requests) {
      await ask('start profile')
      await load.run(requests)
      return (await ask('stop profile')) as Record<Owner, number>
    },
    stop: () => {
      load.stop()
      child.disconnect()
    },
  }
}

async function measure(
  framework: keyof typeof apps,
  targets: readonly Target[],
  progress: (share: number) => void,
): Promise<Table> {
  const [alone, ...names] = Object.keys(apps[framework])
  if (alone === undefined) throw new RangeError(`no apps in ${framework}`)
  const bare = await serverOf(framework, alone)
  await bare.cost(WARMING)
  const pairs = new Map<string, readonly Pair[]>()
  for (const name of names) {
    pairs.set(name, await pairsOf(bare, await serverOf(framework, name)))
    progress(pairs.size / names.length)
  }
  bare.stop()
  const without = [...pairs.values()].flat().map(({ without }) => without)
  return {
    title: `A request through ${titled(framework)}`,
    how: 'CPU time of the server process, in turns of 512 requests between two turns of the same server without a limiter, both warm. Sixteen connections, and a route that answers one word.',
    columns: [ADDED, IN_ALL],
    rows: [
      { name: alone, figures: [null, figureOf(without)] },
      ...[...pairs].map(([name, found]) => ({
        name,
        figures: [
          figureOf(found.map(({ without, behind }) => behind - without)),
          figureOf(found.map(({ behind }) => behind)),
        ],
      })),
    ],
    targets,
  }
}

/** The cost of a request without and with a limiter. */
interface Pair {
  readonly without: number
  readonly behind: number
}

/**
 * Measures two servers alternately, and no others: a server that has been idle for long is slower. Each turn is between
 * two turns of the other, so that a temporary slowdown of the machine affects both.
 */
async function pairsOf(bare: Server, server: Server): Promise<readonly Pair[]> {
  await server.cost(WARMING)
  const found: Pair[] = []
  let before = await bare.cost(SLICE)
  for (let slice = 0; slice < SLICES; slice++) {
    const behind = await server.cost(SLICE)
    const after = await bare.cost(SLICE)
    found.push({ behind, without: (before + after) / 2 })
    before = after
  }
  server.stop()
  return found
}

const added = (ours: string, theirs: string, atMost: number, baseline: string): Target => ({
  ours,
  theirs,
  column: ADDED,
  atMost,
  baseline,
})
const noDearer: Target = {
  ours: 'spillway, denying',
  theirs: 'no limiter',
  column: IN_ALL,
  atMost: 1,
  baseline: 'hand-written, denying',
}

/** Servers have their own processes, so that one client process is enough. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = {
  node: (progress) =>
    measure(
      'node',
      [added('spillway, draft-8', 'rate-limiter-flexible, draft-8', 1, 'hand-written, draft-8')],
      progress,
    ),
  express: (progress) =>
    measure(
      'express',
      [
        added('spillway, draft-6', 'express-rate-limit, draft-6', 0.3, 'hand-written, draft-6, with req.rateLimit'),
        added('spillway, draft-8', 'express-rate-limit, draft-8', 0.3, 'hand-written, draft-8, with req.rateLimit'),
        {
          ours: 'spillway, draft-8, with all algorithms in use',
          theirs: 'spillway, draft-8',
          column: ADDED,
          atMost: 1.3,
        },
        noDearer,
      ],
      progress,
    ),
  koa: (progress) =>
    measure('koa', [added('spillway, legacy', 'koa-ratelimit', 0.35, 'hand-written, legacy'), noDearer], progress),
  hono: (progress) =>
    measure(
      'hono',
      [added('spillway, draft-6', 'hono-rate-limiter, draft-6', 0.8, 'hand-written, draft-6'), noDearer],
      progress,
    ),
  fastify: (progress) =>
    measure(
      'fastify',
      [added('spillway, legacy', '@fastify/rate-limit', 1, 'hand-written, legacy'), noDearer],
      progress,
    ),
}
