// Breaks the sources in small ways, one at a time, and expects a test to fail for each: `npm run mutate -- bucket breaker`.
//
// --only PATH       breaks one file of the scopes, to see its survivors sooner: its score is no measure of the scope
// --concurrency 1   how many mutants are tested at once
// --force           tests again what has not changed since the last run

import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { scopes } from '../test/mutation/scopes.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    concurrency: { type: 'string', default: '1' },
    force: { type: 'boolean', default: false },
  },
})

const unknown = positionals.filter((name) => !scopes.has(name))
if (unknown.length > 0) throw new Error(`unknown scopes: ${unknown}. Write some of: ${[...scopes.keys()].join(', ')}`)

for (const [name, { mutate, tests, atLeast }] of scopes) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  console.log(`\n${name}`)
  // Stryker's own `testFiles` leaves mutants of module-level code inactive: stryker-mutator/stryker-js#6144.
  process.env['MUTATION_TESTS'] = tests.join()
  await new Stryker({
    mutate: values.only === undefined ? mutate : [values.only],
    thresholds: { high: 100, low: atLeast, break: values.only === undefined ? atLeast : null },
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    plugins: ['@stryker-mutator/vitest-runner'],
    concurrency: Number(values.concurrency),
    incremental: values.only === undefined,
    incrementalFile: `.cache/mutation/${name}.json`,
    force: values.force,
    tempDirName: '.cache/mutation/copy',
    // The compiler's JavaScript API, with which Stryker would rewrite it, is not in TypeScript 7.
    ignorePatterns: ['/tsconfig.json', 'bench', 'demo', 'docs', 'examples', 'site', '.changeset', '**/dist', '**/api'],
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, allowEmojis: false },
    allowConsoleColors: false,
  }).runMutationTest()
}
