import { expect, test } from 'vitest'
import { type Row, tableOf, tellsTheSame } from './runtimes/table.ts'

// What `npm run test:runtimes` makes of what it has run.

const row = { runtime: 'Node 24.1.0', imported: 336, required: 336, reported: ['Koa', 'Hono'], failures: [] }
const worker = { ...row, runtime: 'workerd 1.20261117.1', required: undefined }
const compiled = { compilers: ['5.9.3', '7.0.2'], resolutions: ['node16', 'bundler'], failures: [] }
const tableFrom = (...rows: readonly Row[]): string => tableOf(rows, compiled, ['pnpm', 'Bun'], ['Jest 30', 'ts-jest'])
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
      '',
    ].join('\n'),
  )
})

test('a table is current if it tells the same of the same runtimes, however new they are', () => {
  const tells = (...rows: readonly Row[]): boolean => tellsTheSame(tableFrom(...rows), table)
  expect(tells({ ...row, runtime: 'Node 24.10.1234' }, worker)).toBe(true)
  expect(tells({ ...row, runtime: 'Bun 24.1.0' }, worker)).toBe(false)
  expect(tells({ ...row, required: 335 }, worker)).toBe(false)
  expect(tells({ ...row, reported: ['Koa'] }, worker)).toBe(false)
  expect(tells(worker)).toBe(false)
})
