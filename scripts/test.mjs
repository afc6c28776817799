// Everything that must hold, from a fresh clone: `npm test`. The last line counts tests, and each other step as one.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureDependencies, ensurePgBouncer, ensurePostgres, ensureRedis, ensureValkey, root } from './ensure.mjs'

const count = { passed: 0, failed: 0, skipped: 0 }
const reports = mkdtempSync(join(tmpdir(), 'spillway-test-'))

/** Runs node, or a program from node_modules/.bin. @param {string[]} command @param {'inherit' | 'pipe'} stdio */
function run([name = '', ...args], stdio) {
  return spawnSync(name === 'node' ? name : join(root, 'node_modules/.bin', name), args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', stdio, stdio],
    shell: process.platform === 'win32',
  })
}

/** A step is told in one line; what it printed is of interest only when it fails. @param {string} command */
function check(command) {
  const { status, stdout, stderr } = run(command.split(' '), 'pipe')
  if (status !== 0) console.log(stdout, stderr)
  count[status === 0 ? 'passed' : 'failed'] += 1
  return status === 0
}

/** @param {string} project */
function vitest(project) {
  const report = join(reports, `${project}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const { status } = run(['vitest', 'run', '--project', project, '--allowOnly=false', ...reporters], 'inherit')
  const failed = countTests(report)
  // A file that does not load, or an error outside of any test, fails no test that could be counted.
  if (status !== 0 && failed === 0) count.failed += 1
  return status === 0
}

/** @param {string} report */
function countTests(report) {
  let results = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 }
  try {
    results = JSON.parse(readFileSync(report, 'utf8'))
  } catch {} // vitest stopped before it wrote one
  count.passed += results.numPassedTests
  count.failed += results.numFailedTests
  count.skipped += results.numPendingTests + results.numTodoTests
  return results.numFailedTests
}

function dependencies() {
  ensureDependencies()
  ensureRedis()
  ensureValkey()
  ensurePostgres()
  ensurePgBouncer()
  return true
}

/** @type {[string, () => boolean][]} */
const steps = [
  ['dependencies', dependencies],
  ['format and lint', () => check('biome check --error-on-warnings')],
  ['build', () => check('node scripts/build.mjs')],
  ['types of tests', () => check('tsc -b')],
  ['import rules', () => check('depcruise --config .dependency-cruiser.mjs packages test examples bench demo site')],
  ['spelling', () => check('cspell lint --no-progress')],
  ['links', () => check('remark . --ignore-path .gitignore --frail --quiet --no-stdout')],
  ['docs site', () => check('node scripts/docs.mjs build')],
  ['unused code and dependencies', () => check('knip --no-progress')],
  ['tests', () => vitest('unit')],
  ['tests on the oldest frameworks', () => vitest('oldest')],
  ['package checks', () => vitest('packages')],
  ['docs site in a browser', () => vitest('site')],
]

/** @param {typeof steps[number]} step */
function passes([name, step]) {
  const start = performance.now()
  let passed = false
  try {
    passed = step()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    count.failed += 1
  }
  console.log(`${passed ? '✓' : '✗'} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
  return passed
}

if (!steps.every(passes)) process.exitCode = 1
rmSync(reports, { recursive: true, force: true })
console.log(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ''}`)
