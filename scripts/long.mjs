// Runs tests with more random cases than `npm test` has time for: `npm run test:long`, or with names of files.
//
// --times 10       how many times as many

import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { ensureAll } from './ensure.mjs'
import { root } from './install.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: 'string', default: '10' } },
})

// Parts of names: the suites of stores, of adapters on the newest and the oldest frameworks, and what else races or tests random cases.
const TESTS = [
  'packages/conformance/',
  'packages/core/test/',
  ...[
    'adapter',
    'v1',
    'store',
    'in-process-store',
    'cluster',
    'lean',
    'json-shapes',
    'consume',
    'coalesce',
    'in-flight',
  ].map((name) => `/test/${name}.test.ts`),
  ...['clients', 'cluster-store', 'hostile', 'paths', 'transports'].map((name) => `test/${name}.test.ts`),
]
const PROJECTS = ['unit', 'shared*', 'oldest*'].map((name) => `--project=${name}`)

ensureAll()
const tests = positionals.length > 0 ? positionals : TESTS
const { status } = spawnSync(
  'npx',
  ['vitest', 'run', ...PROJECTS, `--testTimeout=${120_000 * Number(values.times)}`, ...tests],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SPILLWAY_RUNS: values.times },
  },
)
process.exitCode = status ?? 1
