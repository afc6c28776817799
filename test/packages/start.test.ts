import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { freePort } from '../services/redis.ts'
import { asked, inNode, starts } from './start.ts'

// The first page, followed to the letter on packages as they are installed: what is written there into `app.mjs` runs in
// Node as it stands, and denies the fourth request.

const app = inject('app')

const programs = starts()
const servers = programs.filter(({ name }) => name !== 'No HTTP')

/** Starts a program, which ends with the test. */
function start(file: string, code: string) {
  writeFileSync(join(app, file), code)
  const child = spawn(process.execPath, [file], { cwd: app, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill())
  return child
}

test('the page has a program for every framework', () => {
  const frameworks = ['Express', 'Koa', 'Hono', 'Fastify', 'h3', 'Elysia', 'NestJS', 'fetch', 'Node']
  expect(programs.map(({ name }) => name)).toEqual([...frameworks, 'No HTTP'])
})

test.each(servers)('$name: allows three requests, and denies the fourth with Retry-After', async (page) => {
  const port = await freePort()
  start(`start-${page.name}.mjs`, inNode(page, port).code)
  const url = `http://127.0.0.1:${port}/`
  const passed: string[] = []
  for (let i = 0; i < 3; i++) passed.push(await (await asked(url)).text())
  expect(passed).toEqual(['2 left\n', '1 left\n', '0 left\n'])
  const denial = await fetch(url)
  expect([denial.status, denial.headers.get('ratelimit-policy')]).toEqual([429, '"default";q=3;w=60'])
  expect(await denial.json()).toMatchObject({ status: 429, 'violated-policies': ['default'] })
})

test('without HTTP: three decisions allow, the fourth does not', async () => {
  const { code = '' } = programs.find(({ name }) => name === 'No HTTP') ?? {}
  const child = start('start-plain.mjs', code)
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  await once(child, 'close')
  expect(out).toMatch(/^true 2 0\ntrue 1 0\ntrue 0 0\nfalse 0 \d+(\.\d+)?\n$/)
})
