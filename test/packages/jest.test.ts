import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { entriesOf, forWorkersOnly } from './app.ts'

// Most Express apps are tested with Jest, which cannot require an ES module. `npm run test:runtimes` also runs ts-jest and
// babel-jest.

test('Jest requires every entry, without configuration', () => {
  const app = inject('app')
  const folder = join(app, 'jest')
  const specifiers = entriesOf(app)
    // Nest 12 is an ES module itself.
    .filter((entry) => !forWorkersOnly(entry) && !entry.specifier.includes('nestjs'))
    .map(({ specifier }) => specifier)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{}')
  const code = `
    const { perMinute, rateLimiter } = require('@spillway/memory')
    const { QuotaError } = require('@spillway/core')
    test.each(${JSON.stringify(specifiers)})('%s', (specifier) => {
      expect(Object.keys(require(specifier))).not.toEqual([])
    })
    test('counts, and rejects what is invalid', () => {
      const limiter = rateLimiter({ quota: perMinute(1) })
      expect([1, 2].map(() => limiter.consumeSync('alice').allowed)).toEqual([true, false])
      expect(() => perMinute(-1)).toThrow(QuotaError)
    })
  `
  writeFileSync(join(folder, 'app.test.js'), code)
  const jest = createRequire(import.meta.url).resolve('jest/bin/jest')
  const args = [jest, '--ci', '--json', '--testLocationInResults=false']
  const report = execFileSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect(JSON.parse(report)).toMatchObject({ numPassedTests: specifiers.length + 1, numFailedTests: 0 })
})
