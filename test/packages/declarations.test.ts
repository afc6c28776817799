import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { installed } from './app.ts'
import { root } from './pack.ts'
import { app, specifiers } from './packed.ts'

test('the declarations compile in ES modules and in CommonJS', () => {
  const imports = specifiers.map((entry, i) => `import * as e${i} from '${entry}'`)
  const uses = specifiers.map((_, i) => `export const t${i}: typeof e${i} = e${i}`)
  const code = [
    ...imports,
    ...uses,
    "import { perMinute, rateLimit } from '@spillway/express'",
    'export const middleware = rateLimit({ quota: perMinute(100) })',
    '// @ts-expect-error: the types are there, so a wrong one is denied',
    "perMinute('many')",
  ].join('\n')
  writeFileSync(join(app, 'esm-user.mts'), code)
  writeFileSync(join(app, 'cjs-user.cts'), code)
  expect(compiled('--types node esm-user.mts cjs-user.cts')).toBe('')
})

test.each(['app', 'oldest'] as const)('the declarations compile with the frameworks of an app: %s', (frameworks) => {
  const code = `
    import * as forElysia from '@spillway/elysia'
    import * as forExpress from '@spillway/express'
    import * as forFastify from '@spillway/fastify'
    import * as forH3 from '@spillway/h3'
    import * as forHono from '@spillway/hono'
    import * as forKoa from '@spillway/koa'
    import { Elysia } from 'elysia'
    import express from 'express'
    import fastify from 'fastify'
    import { H3 } from 'h3'
    import { Hono } from 'hono'
    import Koa from 'koa'
    const quota = forKoa.perMinute(100)
    express().use(forExpress.rateLimit({ quota }), (req, res) => {
      res.send(String(req.rateLimit?.remaining))
    })
    new Koa().use(forKoa.rateLimit({ quota })).use((ctx) => {
      ctx.body = ctx.state.rateLimit?.remaining
    })
    new Hono().use(forHono.rateLimit({ quota })).get('/', (c) => c.text(String(c.get('rateLimit')?.remaining)))
    new H3().use(forH3.rateLimit({ quota })).get('/', (event) => event.context.rateLimit?.remaining)
    new Elysia().use(forElysia.rateLimit({ quota })).get('/', ({ request }) => forElysia.decisionOf(request)?.remaining)
    const app = fastify()
    app.addHook('onRequest', forFastify.rateLimit({ quota }))
    app.get('/', async (request) => request.rateLimit?.remaining)

    interface MyState { user: string }
    const own = new Koa<MyState>()
    own.use(forKoa.rateLimit({ quota }))
    own.use((ctx) => {
      ctx.body = [ctx.state.user, forKoa.decisionOf(ctx)?.remaining]
      // @ts-expect-error: the state has only what its type says
      ctx.state.rateLimit
    })
    new Koa<MyState>().use(forKoa.rateLimit({ quota })).use((ctx) => {
      ctx.body = [ctx.state.user, ctx.state.rateLimit?.remaining]
    })
    interface WithDecision extends MyState, Pick<Koa.DefaultState, 'rateLimit'> {}
    new Koa<WithDecision>().use((ctx) => {
      ctx.body = [ctx.state.user, ctx.state.rateLimit?.remaining]
    })
  `
  const folder = inject(frameworks)
  writeFileSync(join(folder, 'frameworks.mts'), code)
  expect(compiled('--types node frameworks.mts', folder)).toBe('')
})

// As in Nuxt: paths lead to its h3, which is not a dependency of the app.
test.each(['packages/h3/node_modules/h3-1', 'node_modules/h3-1-8'])(
  'the declarations compile with the h3 of Nuxt: %s',
  (h3) => {
    const code = `
    import { decisionOf, perMinute, perSecond, rateLimit } from '@spillway/h3/v1'
    import { createApp, createRouter, eventHandler, getCookie, type H3Event } from 'h3'
    export default rateLimit({ quota: perMinute(100) })
    const limit = rateLimit({
      policies: [
        { name: 'second', quota: perSecond(10), key: (event) => getCookie(event, 'user') },
        { name: 'minute', quota: perMinute(100), settle: (event) => event.node.res.statusCode },
      ],
      onDenied: (event: H3Event, { policy }) => {
        // @ts-expect-error: there is no such policy
        policy === 'hour'
        return new Response(event.path, { status: 429 })
      },
    })
    const route = eventHandler({ onRequest: limit, handler: (event) => event.context.rateLimit?.remaining })
    const within = eventHandler(async (event) => {
      await limit(event)
      const named: 'second' | 'minute' | undefined = limit.decisionOf(event)?.policy as 'second' | 'minute' | undefined
      // @ts-expect-error: a decision has no such member
      decisionOf(event)?.left
      // @ts-expect-error: what is counted is an event
      limit('/')
      return event.handled ? undefined : named
    })
    createApp().use(limit).use('/v1', limit).use(createRouter().get('/route', route).get('/within', within))
  `
    const name = `with-${basename(h3)}`
    const compilerOptions = { paths: { h3: [join(root, h3, 'dist/index.d.ts')] }, lib: ['es2023', 'webworker'] }
    writeFileSync(join(app, `${name}.mts`), code)
    writeFileSync(join(app, `${name}.json`), JSON.stringify({ compilerOptions, files: [`${name}.mts`] }))
    expect(compiled(`--types node -p ${name}.json`)).toBe('')
  },
)

test('the declarations for Workers compile with the types of Workers', () => {
  const code = `
    import { DurableObject } from 'cloudflare:workers'
    import { durableObjectStore } from '@spillway/cloudflare'
    import { RateLimits } from '@spillway/cloudflare/object'
    declare const limits: DurableObjectNamespace<RateLimits>
    durableObjectStore(limits, { shards: 4 })
    class Other extends DurableObject {}
    declare const others: DurableObjectNamespace<Other>
    // @ts-expect-error: these objects keep something else
    durableObjectStore(others)
  `
  writeFileSync(join(app, 'worker.mts'), code)
  expect(compiled('--lib es2023 --types @cloudflare/workers-types worker.mts')).toBe('')
})

// Most projects on CommonJS have this resolution, which reads no "exports" and which TypeScript 7 no longer has.
test('the declarations compile under the oldest module resolution', () => {
  const entries = specifiers.filter((entry) => /core|express|koa|memory|node/.test(entry))
  const code = entries.map((entry, i) => `import * as e${i} from '${entry}'\nexport const t${i}: typeof e${i} = e${i}`)
  writeFileSync(join(app, 'node10.ts'), code.join('\n'))
  const tsc = join(root, 'site/node_modules/typescript/bin/tsc')
  const options =
    '--noEmit --strict --target es2023 --types node --module commonjs --moduleResolution node10 --ignoreDeprecations 6.0'
  const { stdout } = spawnSync(process.execPath, [tsc, ...options.split(' '), 'node10.ts'], {
    cwd: app,
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
}, 120_000)

// As pnpm installs: an app has no package that it does not depend on, and its declarations can name no types of it.
describe('an app can export what the functions return, if it only depends on', () => {
  const names = ['elysia', 'express', 'fastify', 'fetch', 'h3', 'hono', 'koa', 'nestjs', 'node']
  const folder = mkdtempSync(join(tmpdir(), 'spillway-exports-'))
  let errors: readonly string[]
  // All at once: most of what is compiled is the same.
  beforeAll(() => {
    for (const name of names) {
      mkdirSync(join(folder, name, 'node_modules/@spillway'), { recursive: true })
      for (const each of [name, 'redis'])
        symlinkSync(installed(app, each), join(folder, name, 'node_modules/@spillway', each))
      writeFileSync(join(folder, name, 'exports.mts'), exportsOf(name))
    }
    const options = '--skipLibCheck true --noEmit false --declaration --emitDeclarationOnly --outDir out'
    const files = names.map((name) => `${name}/exports.mts`)
    errors = compiled(`${options} ${files.join(' ')}`, folder).split(/\n(?=\S)/)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(names)('@spillway/%s', (name) => {
    expect(errors.filter((error) => error.startsWith(`${name}/`))).toEqual([])
    expect(readFileSync(join(folder, 'out', name, 'exports.d.mts'), 'utf8')).toContain('export declare const limiter')
  })

  test('and nothing else is amiss', () => expect(errors).toEqual(['']))
})

const exportsOf = (name: string): string => `
  import {
    consumeAll, fixedWindow, memoryStore, penalty, perMinute, perMonth, rateLimiter, sharedQuotaBounds,
    slidingLog, slidingWindow, warmingUp, withDenyCache, withLeases,
  } from '@spillway/${name}'
  import { redisStore } from '@spillway/redis'
  export const quotas = { free: perMinute(5), paid: perMonth(5) }
  export const window = fixedWindow({ limit: 1, window: '1s' })
  export const sliding = slidingWindow({ limit: 1, window: '1s' })
  export const log = slidingLog({ limit: 5, window: '1s' })
  export const warming = warmingUp({ limit: 5, per: '1s', warmUpPeriod: '1m' })
  export const failures = penalty({ after: 1, within: '1s', block: '1m' })
  export const store = memoryStore()
  export const remote = redisStore({} as never)
  export const cached = withDenyCache(remote)
  export const leased = withLeases(remote, { requests: 5 })
  export const bounds = sharedQuotaBounds(quotas.free, { processes: 4 })
  export const limiter = rateLimiter({ quota: quotas.free })
  export const shared = rateLimiter({ quota: quotas.free, store: remote })
  export const consumed = () => limiter.consume('a')
  export const some = () => limiter.consumeUpTo('a', 5)
  export const reserved = () => limiter.reserve('a')
  export const inspected = () => limiter.inspect('a')
  export const listed = () => limiter.list()
  export const both = () => consumeAll([[limiter, 'a']])
`

/** The declarations of Elysia, h3 and Hono 4.0 have errors of their own. */
const THEIRS = /\.pnpm\/(elysia|exact-mirror|h3|hono)@/

function compiled(args: string, cwd = app): string {
  const options =
    '--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2023 --skipLibCheck false'
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, ...`${options} ${args}`.split(' ')], { cwd, encoding: 'utf8' })
  // An error is a line, and the indented lines below it.
  return stdout
    .split(/\n(?=\S)/)
    .filter((error) => !THEIRS.test(error))
    .join('\n')
}
