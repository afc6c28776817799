import { expect, test } from 'vitest'
import { inNode, startsOf } from './packages/start.ts'
import { firstsText } from './runtimes/firsts.ts'
import { endOf, outcomesOf } from './runtimes/outcomes.ts'
import { haveSameResults, type Row, tableOf } from './runtimes/table.ts'

// What `npm run test:runtimes` makes of what it has run.

const row = { runtime: 'Node 24.1.0', imported: 336, required: 336, reported: ['Koa', 'Hono'], failures: [] }
const worker = { ...row, runtime: 'workerd 1.20261117.1', required: undefined }
const compiled = { compilers: ['5.9.3', '7.0.2'], resolutions: ['node16', 'bundler'], failures: [] }
const tableFrom = (...rows: readonly Row[]): string =>
  tableOf(rows, compiled, ['pnpm', 'Bun'], ['Jest 30', 'ts-jest'], ['Astro 7', 'Nitro 3'])
const table = tableFrom(row, worker)

test('a table shows what was run', () => {
  expect(table).toBe(
    [
      '| runtime              | suites, `import` | suites, `require` | the same story over HTTP |',
      '| -------------------- | ---------------- | ----------------- | ------------------------ |',
      '| Node 24.1.0          | 336 passed       | 336 passed        | Koa, Hono                |',
      '| workerd 1.20261117.1 | 336 passed       |                   | Koa, Hono                |',
      '',
      'The declarations compile with TypeScript 5.9.3 and 7.0.2, under `node16` and `bundler`.',
      "A user's tests pass in Jest 30 and ts-jest. Every entry is also imported and required as installed by pnpm and Bun.",
      'The samples for frameworks limit production builds of Astro 7 and Nitro 3.',
      '',
    ].join('\n'),
  )
})

test('a table is current if it tells the same of the same runtimes, however new they are', () => {
  const isSame = (...rows: readonly Row[]): boolean => haveSameResults(tableFrom(...rows), table)
  expect(isSame({ ...row, runtime: 'Node 24.10.1234' }, worker)).toBe(true)
  expect(isSame({ ...row, runtime: 'Bun 24.1.0' }, worker)).toBe(false)
  expect(isSame({ ...row, required: 335 }, worker)).toBe(false)
  expect(isSame({ ...row, reported: ['Koa'] }, worker)).toBe(false)
  expect(isSame(worker)).toBe(false)
})

const printed = (suite: string): string => JSON.stringify({ suite, passed: 60, failed: [] })
const run = [printed('Express'), 'a warning', printed('Koa'), endOf(2)]

test('a run that prints its last line has passed what it printed', () => {
  const passed = outcomesOf(run.join('\n'))
  expect(passed.map(({ suite, failed }) => [suite, failed])).toEqual([
    ['Express', []],
    ['Koa', []],
  ])
})

// Deno waits for nothing that a promise alone is waiting for, and ends with 0.
test.each([
  ['before its last line', run.slice(0, 3), 'after Koa'],
  ['before its first suite ends', [], 'after nothing'],
  ['without one of its suites', [printed('Koa'), endOf(2)], 'after Koa'],
  ['with a line after its last', [...run, printed('Koa')], 'after Koa'],
])('a run that ends %s has failed', (_, lines, suite) => {
  expect(outcomesOf(lines.join('\n')).at(-1)).toEqual({
    suite,
    passed: 0,
    failed: ['it ended before its last suite did'],
  })
})

const block = (name: string, language: string, code: string) => `**${name}**\n\n\`\`\`${language}\n${code}\n\`\`\`\n`

test('the start page says how to install each program', () => {
  const page = `# Start\n${block('Koa', 'sh', 'npm install koa @spillway/koa')}\n${block('Koa', 'ts', 'app.listen(3000)')}`
  const [start, ...others] = startsOf(page)
  expect(start).toEqual({ name: 'Koa', packages: ['koa', '@spillway/koa'], code: 'app.listen(3000)\n' })
  expect([others, inNode({ name: 'Koa', packages: [], code: 'app.listen(3000)' }, 81).code]).toEqual([
    [],
    'app.listen(81)',
  ])
  expect(() => startsOf(block('Koa', 'ts', 'app.listen(3000)'))).toThrow('how to install Koa')
})

test('the times to the first 429 say which are longer than the goal', () => {
  const firsts = [
    { name: 'Express', ms: 4_321 },
    { name: 'Koa', ms: 12_000 },
  ]
  expect(firstsText(firsts).split('\n').slice(1)).toEqual(['  Express    4.3 s', '  Koa       12.0 s, more than 10 s'])
})
