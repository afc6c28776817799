import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { entriesOf, forWorkersOnly, installed } from './app.ts'
import { names, root } from './pack.ts'

// The packages as a user gets them: packed, unpacked into a node_modules, imported, required and compiled.

const bare = inject('bare')
const app = inject('app')
const specifiers = entriesOf(app)
  .filter((entry) => !forWorkersOnly(entry))
  .map(({ specifier }) => specifier)

/** Runs a file and returns the JSON that it prints. */
function runs(file: string, code: string): unknown {
  writeFileSync(join(bare, file), code)
  return JSON.parse(execFileSync(process.execPath, [file], { cwd: bare, encoding: 'utf8' }))
}

describe.each(names)('@spillway/%s', (name) => {
  test('holds its build, its sources and three papers', () => {
    expect(readdirSync(installed(app, name)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json', 'src'])
    const files = readdirSync(join(installed(app, name), 'dist'), { recursive: true, encoding: 'utf8' })
    const others = files.filter((file) => file.includes('.') && !/\.(js|d\.ts)(\.map)?$/.test(file))
    expect(others).toEqual([join('cjs', 'package.json')])
  })

  test('maps what is built to sources that it holds', () => {
    const dist = join(installed(app, name), 'dist')
    const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.map'))
    expect(maps.length).toBeGreaterThan(0)
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(join(dist, map), 'utf8')) as { sources: readonly string[] }
      for (const source of sources) expect(existsSync(join(dist, dirname(map), source)), `${map}: ${source}`).toBe(true)
    }
  })

  test('opens its README with what it is, how to install it, and a sample that asks for nothing else', () => {
    const readme = readFileSync(join(installed(app, name), 'README.md'), 'utf8')
    expect(readme).toMatch(new RegExp(`^# @spillway/${name}\n\n[A-Z][^#]+?\n\n\`{3}sh\n`))
    const [start = '', sample = ''] = [...readme.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, code]) => code as string)
    const imported = [...sample.matchAll(/ from '((?:@[^/']+\/)?[^/']+)/g)].map(
      ([, dependency]) => dependency as string,
    )
    const needed = imported.filter((dependency) => !/^\w+:/.test(dependency))
    expect(start.split(/\s+/)).toEqual(expect.arrayContaining([`@spillway/${name}`, ...needed]))
  })

  test('tells what it is in its manifest', () => {
    const manifest = JSON.parse(readFileSync(join(installed(app, name), 'package.json'), 'utf8'))
    expect(manifest).toMatchObject({ license: 'MIT', type: 'module', sideEffects: false, engines: { node: '>=20.19' } })
    expect(manifest.description).toMatch(/^[A-Z].+\.$/)
    expect(manifest.keywords).toContain('rate-limit')
  })

  test('names no file that it lacks and no workspace', () => {
    const manifest = readFileSync(join(installed(app, name), 'package.json'), 'utf8')
    expect(manifest).not.toMatch(/workspace:|catalog:/)
    const { main, types, typesVersions, exports } = JSON.parse(manifest)
    const textsIn = (value: unknown): readonly string[] =>
      typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(textsIn)
    for (const target of textsIn([main, types, typesVersions, exports])) {
      expect(target).toMatch(/^\.\/dist\//)
      expect(existsSync(join(installed(app, name), target)), target).toBe(true)
    }
  })
})

test('every entry gives import() and require() the same names, with no framework installed', () => {
  const list = JSON.stringify(specifiers)
  const print = 'console.log(JSON.stringify(names))'
  const imported = runs(
    'esm.mjs',
    `const names = {}; for (const e of ${list}) names[e] = Object.keys(await import(e)).sort(); ${print}`,
  )
  const required = runs(
    'cjs.cjs',
    `const names = {}; for (const e of ${list}) names[e] = Object.keys(require(e)).sort(); ${print}`,
  )
  expect(required).toEqual(imported)
  for (const [entry, exported] of Object.entries(imported as Record<string, string[]>)) {
    expect(exported.length, `${entry} exports nothing`).toBeGreaterThan(0)
    expect(exported.includes('default'), entry).toBe(entry === '@spillway/express/compat')
  }
})

test('require() returns what an entry exports by default, as that of express-rate-limit does', () => {
  const code = `
    const limit = require('@spillway/express/compat')
    const same = [limit.default, limit.rateLimit].every((each) => each === limit)
    console.log(JSON.stringify([typeof limit({ windowMs: limit.MINUTE }), same, limit.__esModule]))
  `
  expect(runs('callable.cjs', code)).toEqual(['function', true, true])
})

test('what is imported and what is required count together', () => {
  const code = `
    import assert from 'node:assert/strict'
    import { createRequire } from 'node:module'
    import * as one from '@spillway/memory'
    import * as core from '@spillway/core'
    import * as http from '@spillway/core/http'
    const require = createRequire(import.meta.url)
    const two = require('@spillway/memory')
    const other = require('@spillway/core')
    assert.notEqual(one.rateLimiter, two.rateLimiter)
    assert.ok(new core.StoreError('down') instanceof other.StoreError)
    const store = one.memoryStore()
    const limiters = [one, two].map(({ rateLimiter, perMinute }) => rateLimiter({ quota: perMinute(1), store }))
    const taken = limiters.map((limiter) => limiter.consumeSync('alice').allowed)
    assert.throws(() => two.rateLimiter({ quota: two.perMinute(2), store }), core.QuotaError)
    const all = await other.consumeAll([[limiters[0], 'bob']])
    console.log(JSON.stringify([taken, all.allowed, limiters[1].consumeSync('bob').allowed]))
  `
  expect(runs('copies.mjs', code)).toEqual([[true, false], true, false])
})

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
  const entries = specifiers.filter((entry) => /core|express|koa|memory/.test(entry))
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
