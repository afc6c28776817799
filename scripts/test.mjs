// Everything that must hold, from a fresh clone: `npm test`. The last line counts tests, and each other step as one.

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureAll } from './ensure.mjs'
import { root } from './install.mjs'

const count = { passed: 0, failed: 0, skipped: 0 }

/**
 * Runs node, or a program from node_modules/.bin. Resolves with its status and, if piped, with what it printed.
 * @param {string[]} command @param {'inherit' | 'pipe'} stdio @param {Record<string, string>} [env]
 * @returns {Promise<{ status: number | null, printed: string }>}
 */
function run([name = '', ...args], stdio, env = {}) {
  const program = spawn(name === 'node' ? name : join(root, 'node_modules/.bin', name), args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', stdio, stdio],
    shell: process.platform === 'win32',
  })
  let printed = ''
  for (const stream of [program.stdout, program.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => (printed += text))
  }
  return new Promise((resolve, reject) => {
    program.on('error', reject)
    program.on('close', (status) => resolve({ status, printed }))
  })
}

/** A program that only succeeds or fails. What it printed is of interest only when it fails. @param {string} command */
const check = (command) => async () => {
  const { status, printed } = await run(command.split(' '), 'pipe')
  if (status !== 0) console.log(printed)
  count[status === 0 ? 'passed' : 'failed'] += 1
  return status === 0
}

async function tests() {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-test-'))
  const report = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const { status } = await run(['vitest', 'run', '--allowOnly=false', ...reporters], 'inherit', { BUILT: '1' })
  const failed = countTests(report)
  rmSync(folder, { recursive: true, force: true })
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

/** @typedef {readonly [name: string, step: () => Promise<boolean>]} Step */

/** @param {Step} step */
async function passes([name, step]) {
  const start = performance.now()
  let passed = false
  try {
    passed = await step()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    count.failed += 1
  }
  console.log(`${passed ? '✓' : '✗'} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
  return passed
}

/** Steps one after another, up to the first that fails. @param {readonly Step[]} steps */
async function inOrder(steps) {
  for (const step of steps) if (!(await passes(step))) return false
  return true
}

/** @type {readonly Step[]} */
const preparation = [
  ['dependencies', async () => ensureAll()],
  ['build', check('node scripts/build.mjs')],
]

/** @type {readonly Step[]} */
const site = [
  ['docs site', check('node scripts/docs.mjs build')],
  // After the build, which leaves modules for a while.
  ['unused code and dependencies', check('knip --no-progress')],
]

/** @type {readonly Step[]} */
const rules = [
  ['format and lint', check('biome check --error-on-warnings')],
  ['types of tests', check('tsc -b')],
  ['import rules', check('depcruise --config .dependency-cruiser.mjs packages test examples bench demo site')],
  ['spelling', check('cspell lint --no-progress')],
  ['links', check('remark . --ignore-path .gitignore --frail --quiet --no-stdout')],
]

async function everything() {
  if (!(await inOrder(preparation))) return false
  // Each of these programs has work for one core.
  const checked = await Promise.all([inOrder(site), inOrder(rules)])
  return !checked.includes(false) && passes(['tests', tests])
}

if (!(await everything())) process.exitCode = 1
console.log(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ''}`)
