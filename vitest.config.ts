import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = fileURLToPath(new URL('.', import.meta.url))

/** The packages of Nest, whose oldest versions need each other under their own names. */
const NEST = [
  'common',
  'core',
  'platform-express',
  'platform-fastify',
  'platform-socket.io',
  'platform-ws',
  'websockets',
].map((name) => `@nestjs/${name}`)

/**
 * The files that have a process each. All others share processes, as most of them take less time than a new process does.
 */
const ALONE = [
  // They compute much, which is faster with code compiled for one file alone.
  'packages/{conformance,simulation}/test/*.test.ts',
  'packages/memory/test/{flood,lone-counter,pages,slots,straight}.test.ts',
  'packages/*/test/{chromium,cluster,concurrency,deadlines,in-process-store,race,store,wrapper-memory}.test.ts',
  'packages/{elysia,hono}/test/adapter.test.ts',
  'test/{faults,proofs}/*.test.ts',
  'test/{clients,cost,counters,docs,hostile,lifecycle,links,lone-counter,paths,serverless,speed,transports}.test.ts',
  'site/test/{paste,run,tabs}.test.ts',
  // They leave something in their process: the time that they set, listeners of Elysia, registered metrics.
  'examples/{elysia,opentelemetry}/*.test.ts',
  'packages/shed/test/elysia.test.ts',
  'packages/elysia/test/short-host.test.ts',
  'site/test/state.test.ts',
  'test/{demo,examples,upgrades}.test.ts',
  // They compare what is counted with the time that passes.
  'examples/llm-tokens/*.test.ts',
  'test/{shared-quota,silent-connection}.test.ts',
  // They need modules of their own.
  '{examples/graphql,packages/nestjs/test}/**/{directive,graphql,main}.test.ts',
  'packages/express/test/compat/stores.test.ts',
  'test/passed-on.test.ts',
]

/** Those of them that run on the oldest frameworks, too. */
const OLDEST_ALONE = [
  'packages/{elysia,hono}/test/adapter.test.ts',
  'packages/elysia/test/short-host.test.ts',
  'packages/express/test/compat/stores.test.ts',
  'test/{paths,transports}.test.ts',
]

const ELSEWHERE = ['**/node_modules/**', 'test/packages/**', 'site/test/chromium/*.test.ts']

/** They fake the time, and count timers: what servers of others set meanwhile would be counted. */
const WITH_FAKE_TIME =
  'packages/{admin,cli,cloudflare,core,express,fastify,fetch,h3,koa,nestjs,node,opentelemetry,plans,postgres,redis,sqlite,stores}/test/**/*.test.ts'

const IN_SHARED_PROCESSES = { isolate: false, setupFiles: ['test/shared-process.ts'] }

/** Starts the files that share processes last: they are many and short, so that at the end no process waits for another. */
class SharedLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isAlone = ({ project }: TestSpecification): boolean => project.config.isolate
    return [...sorted.filter(isAlone), ...sorted.filter((file) => !isAlone(file))]
  }
}

const OLDEST = {
  extends: true,
  resolve: {
    alias: {
      elysia: 'elysia-1',
      express: 'express-4',
      fastify: 'fastify-5',
      h3: 'h3-2',
      'h3-1': 'h3-1-8',
      hono: 'hono-4',
      koa: 'koa-2',
      ...Object.fromEntries(NEST.map((name) => [name, join(root, 'test/nestjs-10/node_modules', name)])),
    },
  },
  test: { env: { FRAMEWORKS: 'oldest' } },
} as const

export default defineConfig({
  test: {
    // Processes, because a test starts a server by a copy of its own process, and one of many threads is large. Many tests
    // wait for servers: four processes keep two cores busy.
    pool: 'forks',
    maxWorkers: 4,
    retry: 0,
    sequence: { sequencer: SharedLast },
    // A limit for what hangs, far above what anything takes: slow machines are no failures.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    restoreMocks: true,
    projects: [
      {
        extends: true,
        // What Node imports: Vite prefers a copy for bundlers, and neither knows the schemas of the other.
        resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
        test: {
          name: 'unit',
          include: ALONE,
          exclude: ELSEWHERE,
        },
      },
      {
        extends: true,
        test: {
          ...IN_SHARED_PROCESSES,
          name: 'shared',
          include: [WITH_FAKE_TIME],
          exclude: [...ELSEWHERE, ...ALONE],
        },
      },
      {
        extends: true,
        test: {
          ...IN_SHARED_PROCESSES,
          name: 'shared-others',
          include: ['{packages/*,site}/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/*/*.test.ts'],
          exclude: [...ELSEWHERE, ...ALONE, WITH_FAKE_TIME],
        },
      },
      // The adapters and their examples on the oldest frameworks that they support.
      {
        ...OLDEST,
        test: {
          ...OLDEST.test,
          name: 'oldest',
          include: OLDEST_ALONE,
        },
      },
      {
        ...OLDEST,
        test: {
          ...OLDEST.test,
          ...IN_SHARED_PROCESSES,
          name: 'oldest-shared',
          include: [
            'packages/{elysia,express,fastify,h3,hono,koa,nestjs}/test/**/*.test.ts',
            'examples/{express,hono,koa}/main.test.ts',
            'test/{adapters,preflights,spellings}.test.ts',
          ],
          // With Hono's newer middleware.
          exclude: [...ALONE, 'packages/hono/test/middleware.test.ts'],
        },
      },
      // What users install: needs the build, so it stands apart.
      {
        extends: true,
        test: { name: 'packages', include: ['test/packages/*.test.ts'], globalSetup: 'test/packages/app.ts' },
      },
      // What readers see, in a real browser: needs the built site.
      { extends: true, test: { name: 'site', include: ['site/test/chromium/*.test.ts'] } },
    ],
  },
})
