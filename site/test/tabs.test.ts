import { expect, test } from 'vitest'
import { withTabs } from '../.vitepress/frameworks.ts'
import { boostDocument, wordsOf } from '../.vitepress/search.ts'

const fence = (code: string, language = 'ts'): string => `\`\`\`${language}\n${code}\n\`\`\`\n`
const sample = (use: string): string =>
  `import { perMinute, rateLimit } from '@spillway/express'\nimport express from 'express'\n\nconst app = express()\n${use}`

test('a sample that is the same in all frameworks has a tab for each', () => {
  const tabs = withTabs(fence(sample('app.use(rateLimit({ quota: perMinute(100) }))')))
  expect(tabs).toContain(
    "```ts [Koa]\nimport { perMinute, rateLimit } from '@spillway/koa'\nimport Koa from 'koa'\n\nconst app = new Koa()\napp.use(rateLimit({ quota: perMinute(100) }))",
  )
  expect(tabs).toContain("const app = fastify()\napp.addHook('onRequest', rateLimit({ quota: perMinute(100) }))")
  expect(tabs.match(/^```ts \[\w+\]$/gm)).toEqual(['```ts [Express]', '```ts [Koa]', '```ts [Hono]', '```ts [Fastify]'])
  expect(withTabs(fence('npm install express @spillway/express', 'sh'))).toContain(
    '```sh [Hono]\nnpm install hono @spillway/hono',
  )
})

test('a sample with parts of one framework stays as it is', () => {
  for (const use of [
    'app.use(rateLimit({ quota: perMinute(1), key: (req) => req.ip }))',
    'app.use(rateLimit({ quota: perMinute(1) }))\napp.get("/", handler)',
    'app.use(express.json(), rateLimit({ quota: perMinute(1) }))',
  ]) {
    expect(withTabs(fence(sample(use)))).toBe(fence(sample(use)))
  }
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
