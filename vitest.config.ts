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
 * The files of some packages that share processes, as most of them take less time than a new process does. All others have
 * one each: they compute much, which is faster with code compiled for one file alone, or test what replaces globals.
 */
const sharedFilesOf = (packages: string): string =>
  `packages/{${packages}}/test/**/!(chromium|cluster|concurrency|deadlines|graphql|in-process-store|race|store|wrapper-memory).test.ts`

const SHARED = sharedFilesOf(
  'admin,cli,cloudflare,core,express,fastify,fetch,h3,koa,nestjs,node,opentelemetry,plans,postgres,redis',
)

const IN_SHARED_PROCESSES = { isolate: false, setupFiles: ['test/shared-process.ts'] }

/** The files that take longest, without those that share processes. */
const LONGEST: ReadonlySet<string> = new Set(
  [
    'packages/cloudflare/test/store.test.ts',
    'packages/conformance/test/ledger.test.ts',
    'packages/conformance/test/mutants.test.ts',
    'packages/conformance/test/prepared-mutants.test.ts',
    'packages/elysia/test/adapter.test.ts',
    'packages/memory/test/store.test.ts',
    'packages/postgres/test/concurrency.test.ts',
    'packages/postgres/test/deadlines.test.ts',
    'packages/postgres/test/in-process-store.test.ts',
    'packages/postgres/test/store.test.ts',
    'packages/redis/test/cluster.test.ts',
    'site/test/chromium/layout.test.ts',
    'site/test/chromium/site.test.ts',
    'test/clients.test.ts',
    'test/docs.test.ts',
    'test/faults/matrix.test.ts',
    'test/hostile.test.ts',
    'test/lifecycle.test.ts',
    'test/lone-counter.test.ts',
    'test/packages/declarations.test.ts',
    'test/packages/export-sizes.test.ts',
    'test/packages/sizes.test.ts',
    'test/serverless.test.ts',
    'test/transports.test.ts',
  ].map((file) => join(root, file)),
)

/** Starts the longest files first: one that started last would run while the other processes have nothing to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean => LONGEST.has(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
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
    // wait for servers: three processes keep two cores busy.
    pool: 'forks',
    maxWorkers: 3,
    retry: 0,
    sequence: { sequencer: LongestFirst },
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
          include: ['{packages/*,site}/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/*/*.test.ts'],
          exclude: ['**/node_modules/**', 'test/packages/**', 'site/test/chromium/*.test.ts', SHARED],
        },
      },
      {
        extends: true,
        test: { ...IN_SHARED_PROCESSES, name: 'shared', include: [SHARED] },
      },
      // The adapters and their examples on the oldest frameworks that they support.
      {
        ...OLDEST,
        test: {
          ...OLDEST.test,
          name: 'oldest',
          include: [
            'packages/{elysia,express,fastify,h3,hono,koa,nestjs}/test/**/*.test.ts',
            'examples/{express,hono,koa}/main.test.ts',
            'test/{adapters,paths,preflights,spellings,transports}.test.ts',
          ],
          // Hono's newer middleware, and GraphQL for Nest 12.
          exclude: ['packages/hono/test/middleware.test.ts', 'packages/nestjs/test/graphql.test.ts', SHARED],
        },
      },
      {
        ...OLDEST,
        test: {
          ...OLDEST.test,
          ...IN_SHARED_PROCESSES,
          name: 'oldest-shared',
          include: [sharedFilesOf('express,fastify,h3,koa,nestjs')],
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
