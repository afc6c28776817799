import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { specifiers } from './packed.ts'

// The packages as a user gets them: packed, unpacked into a node_modules, imported, required and compiled.

const bare = inject('bare')

/** Runs a file and returns the JSON that it prints. */
function runs(file: string, code: string): unknown {
  writeFileSync(join(bare, file), code)
  return JSON.parse(execFileSync(process.execPath, [file], { cwd: bare, encoding: 'utf8' }))
}

test('every entry gives import() and require() the same names, with no framework installed', () => {
  const list = JSON.stringify(specifiers)
  const print = 'console.log(JSON.stringify(names))'
  const imported = runs(
    'esm.mjs',
    `const names = {}; for (const e of ${list}) names[e] = Object.keys(await import(e)).sort(); ${print}`,
  )
  const required = runs(
    'cjs.cjs',
    `const names = {}; for (const e of ${list}) names[e] = Object.keys(require(e)).sort(); ${print}`,
  )
  expect(required).toEqual(imported)
  for (const [entry, exported] of Object.entries(imported as Record<string, string[]>)) {
    expect(exported.length, `${entry} exports nothing`).toBeGreaterThan(0)
    expect(exported.includes('default'), entry).toBe(entry === '@spillway/express/compat')
  }
})

test('require() returns what an entry exports by default, as that of express-rate-limit does', () => {
  const code = `
    const limit = require('@spillway/express/compat')
    const same = [limit.default, limit.rateLimit].every((each) => each === limit)
    console.log(JSON.stringify([typeof limit({ windowMs: limit.MINUTE }), same, limit.__esModule]))
  `
  expect(runs('callable.cjs', code)).toEqual(['function', true, true])
})

test('what is imported and what is required count together', () => {
  const code = `
    import assert from 'node:assert/strict'
    import { createRequire } from 'node:module'
    import * as one from '@spillway/memory'
    import * as core from '@spillway/core'
    import * as http from '@spillway/core/http'
    const require = createRequire(import.meta.url)
    const two = require('@spillway/memory')
    const other = require('@spillway/core')
    assert.notEqual(one.rateLimiter, two.rateLimiter)
    assert.ok(new core.StoreError('down') instanceof other.StoreError)
    const store = one.memoryStore()
    const limiters = [one, two].map(({ rateLimiter, perMinute }) => rateLimiter({ quota: perMinute(1), store }))
    const taken = limiters.map((limiter) => limiter.consumeSync('alice').allowed)
    assert.throws(() => two.rateLimiter({ quota: two.perMinute(2), store }), core.QuotaError)
    const all = await other.consumeAll([[limiters[0], 'bob']])
    console.log(JSON.stringify([taken, all.allowed, limiters[1].consumeSync('bob').allowed]))
  `
  expect(runs('copies.mjs', code)).toEqual([[true, false], true, false])
})
