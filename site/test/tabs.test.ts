import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { problemsOf } from '../../test/docs/check.ts'
import { withTabs, writtenIn } from '../.vitepress/frameworks.ts'
import { boostDocument, wordsOf } from '../.vitepress/search.ts'

const fence = (code: string, language = 'ts'): string => `\`\`\`${language}\n${code}\n\`\`\`\n`
const sample = (use: string): string =>
  `import { perMinute, rateLimit } from '@spillway/express'\nimport express from 'express'\n\nconst app = express()\n${use}`

const NAMES = ['Express', 'Koa', 'Hono', 'Fastify', 'fetch', 'NestJS', 'h3', 'Elysia']
const tabsOf = (markdown: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...withTabs(markdown).matchAll(/^```\w+ \[(\w+)\]\n([\s\S]*?)^```$/gm)].map(([, name, code]) => [name, code]),
  )

test('a sample that is the same in all frameworks has a tab for each', () => {
  const tabs = tabsOf(fence(sample('app.use(rateLimit({ quota: perMinute(100) }))')))
  expect(Object.keys(tabs)).toEqual(NAMES)
  expect(tabs['Koa']).toBe(
    "import { perMinute, rateLimit } from '@spillway/koa'\nimport Koa from 'koa'\n\nconst app = new Koa()\napp.use(rateLimit({ quota: perMinute(100) }))\n",
  )
  expect(tabs['Fastify']).toContain(
    "const app = fastify()\napp.addHook('onRequest', rateLimit({ quota: perMinute(100) }))",
  )
  expect(tabs['fetch']).toBe(
    "import { perMinute, rateLimit } from '@spillway/fetch'\n\nconst limit = rateLimit({ quota: perMinute(100) })\nexport default { fetch: limit(() => new Response('hello')) }\n",
  )
  expect(tabs['NestJS']).toContain("import { perMinute, RateLimitModule } from '@spillway/nestjs'")
  expect(Object.keys(tabsOf(fence('npm install express @spillway/express', 'sh')))).toEqual(NAMES)
})

test('a statement of several lines keeps its options, and a bracket in a string or a comment ends none', () => {
  const use = "app.use(\n  rateLimit({\n    name: ':)', // :)\n    quota: perMinute(1),\n  }),\n)"
  const tabs = tabsOf(`<!-- sample: express -->\n${fence(use)}`)
  expect(tabs['Express']).toBe(`${use}\n`)
  expect(tabs['Fastify']).toBe(
    "app.addHook('onRequest', rateLimit({\n  name: ':)', // :)\n  quota: perMinute(1),\n}))\n",
  )
  expect(tabs['NestJS']).toContain("RateLimitModule.forRoot({\n  name: ':)'")
})

test('a sample with parts of one framework stays as it is', () => {
  for (const use of [
    'app.use(rateLimit({ quota: perMinute(1), key: (req) => req.ip }))',
    'app.use(rateLimit({ quota: perMinute(1) }))\napp.get("/", handler)',
    'app.use(rateLimit({ quota: perMinute(1) }))\napp.use(rateLimit({ quota: perMinute(1) }))',
    'app.use(rateLimit({ quota: perMinute(1) }), handler)',
    'app.use(express.json(), rateLimit({ quota: perMinute(1) }))',
  ]) {
    expect(withTabs(fence(sample(use)))).toBe(fence(sample(use)))
  }
  const other = `<!-- sample: koa -->\n${fence('app.use(rateLimit({ quota: perMinute(1) }))')}`
  expect(withTabs(other)).toBe(other)
})

const root = fileURLToPath(new URL('../..', import.meta.url))
const pages: readonly string[] = [
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`),
  ...readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}/README.md`)
    .filter((path) => existsSync(join(root, path))),
]

test('the samples of all tabs compile and run', { timeout: 300_000 }, async () => {
  const samples = pages.flatMap((document) =>
    writtenIn(readFileSync(join(root, document), 'utf8')).map(({ code, prelude }, i) => ({
      document,
      line: i + 1,
      code,
      prelude,
    })),
  )
  expect(samples.length).toBeGreaterThan(20 * (NAMES.length - 1))
  expect(await problemsOf(samples)).toEqual([])
})

test('samples under names in bold become tabs; one alone does not', () => {
  const two = `**Koa**\n\n${fence('a')}\n**No HTTP**\n\n${fence('b')}\nText.`
  expect(withTabs(two)).toBe('::: code-group\n\n```ts [Koa]\na\n```\n\n```ts [No HTTP]\nb\n```\n\n:::\n\nText.')
  const one = `**Koa**\n\n${fence('a')}\nText.`
  expect(withTabs(one)).toBe(one)
})

test('the page that answers a search has its words', () => {
  expect(wordsOf('migration/nestjs-throttler.md')).toBe('nestjs, throttle')
  expect(wordsOf('start.md')).toBe('')
  expect(boostDocument('/guides/cors.html#headers', 'CORS')).toBeGreaterThan(1)
  expect(boostDocument('/guides/keys.html', 'CORS')).toBe(1)
})
