import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Problem, problemsOf } from './docs/check.ts'
import { type Sample, samplesOfMarkdown, samplesOfSource } from './docs/samples.ts'
import { filesIn } from './files.ts'
import { startPostgres } from './services/postgres.ts'
import { startRedis } from './services/redis.ts'

// Every code sample that a user may copy is compiled and run.

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const packages = readdirSync(join(root, 'packages'))
const examples = readdirSync(join(root, 'examples'))
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...packages.map((name) => `packages/${name}/README.md`),
  ...examples.map((name) => `examples/${name}/README.md`),
  ...filesIn('docs', '.md'),
].filter((path) => existsSync(join(root, path)))
const sources = packages.flatMap((name) => filesIn(`packages/${name}/src`, '.ts'))

const samples: readonly Sample[] = [
  ...documents.flatMap((path) => samplesOfMarkdown(path, read(path))),
  ...sources.flatMap((path) => samplesOfSource(path, read(path))),
]
const shown = ({ document, line, message }: Problem): string => `${document}:${line} ${message}`

describe('the samples of', () => {
  let problems: readonly Problem[]

  beforeAll(async () => {
    const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
    const { host, user, database } = postgres.config
    const env = { PGHOST: host, PGUSER: user, PGDATABASE: database }
    problems = await problemsOf(samples, { ports: { 6379: redis.port }, env })
    await Promise.all([redis.stop(), postgres.stop()])
  }, 900_000)

  test.each([...new Set(samples.map(({ document }) => document))])('%s compile and run', (path) => {
    expect(problems.filter(({ document }) => document === path).map(shown)).toEqual([])
  })
})

describe('the check', () => {
  const path = 'test/docs/fixture.md'

  test('reports each of the ways in which a sample can go wrong, at its line', async () => {
    const problems = await problemsOf(samplesOfMarkdown(path, read(path)))
    expect(problems.map(({ document, line, message }) => [document, line, message.slice(0, 15)])).toEqual([
      [path, 6, 'TS2345: Argumen'],
      [path, 16, 'QuotaError: per'],
      [path, 25, 'QuotaError: key'],
      [path, 29, 'it awaits what '],
      [path, 38, 'it ends the pro'],
      [path, 42, 'it exits with 1'],
      [path, 50, 'Error: late'],
    ])
  })

  test('reports a sample that does not end, and runs those after it', async () => {
    // It blocks its thread and takes no CPU time, so that the limit may be long enough for the other one on a busy machine.
    const endless = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
    const text = `\`\`\`ts\n${endless}\n\`\`\`\n\`\`\`ts\nthrow new Error("after")\n\`\`\`\n`
    expect((await problemsOf(samplesOfMarkdown('a.md', text), { limitMs: 5_000 })).map(shown)).toEqual([
      'a.md:2 it does not end within 5000 ms',
      'a.md:5 Error: after',
    ])
  })

  test('finds the example of a doc comment, with its line and the prelude of its package', () => {
    const source = ['/**', ' * Limits.', ' *', ' * @example', ' * app.use(limit)', ' * @returns it', ' */'].join('\n')
    expect(samplesOfSource('packages/koa/src/index.ts', source)).toEqual([
      { document: 'packages/koa/src/index.ts', line: 5, code: 'app.use(limit)', prelude: 'koa' },
    ])
  })

  test.each([
    ['a directive that no sample follows', '<!-- sample: koa -->\n\n```ts\n```', 'a.md:1 names a prelude for no'],
    ['a block that nothing closes', 'text\n```ts\ncode', 'a.md:2 opens a code block'],
  ])('rejects %s', (_, text, message) => {
    expect(() => samplesOfMarkdown('a.md', text)).toThrow(message)
  })

  test('rejects an unknown prelude', async () => {
    await expect(problemsOf(samplesOfMarkdown('a.md', '<!-- sample: nuxt -->\n```ts\n```'))).rejects.toThrow(
      'a.md:3 names an unknown prelude: nuxt',
    )
  })
})

test('docs/errors.md has a section for each error code, and for nothing else', () => {
  const [union = ''] = /export type ErrorCode =[^/]*/.exec(read('packages/core/src/common/errors.ts')) ?? []
  const codes = [...union.matchAll(/'(ERR_\w+)'/g)].map(([, code = '']) => code.toLowerCase())
  const sections = [...read('docs/errors.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
  expect(codes).not.toEqual([])
  expect(sections.sort()).toEqual(codes.sort())
})

test('docs/errors/warnings.md has a section for each warning code, and for nothing else', () => {
  const [union = ''] = /export type WarningCode =[^/]*/.exec(read('packages/core/src/common/errors.ts')) ?? []
  const codes = [...union.matchAll(/'(WARN_\w+)'/g)].map(([, code = '']) => code.toLowerCase())
  const sections = [...read('docs/errors/warnings.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
  expect(codes).not.toEqual([])
  expect(sections.sort()).toEqual(codes.sort())
})
