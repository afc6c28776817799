import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Literal, parse } from 'acorn'
import { full } from 'acorn-walk'
import { checkSync } from 'recheck'
import { expect, inject, test } from 'vitest'
import { installed } from './app.ts'
import { names } from './pack.ts'

// No pattern of ours can be made to take for ever: for each that is published, recheck looks for a text that would.

const app = inject('app')

function patternsIn(code: string): readonly RegExp[] {
  const patterns: RegExp[] = []
  full(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), (node) => {
    const { regex } = node as Literal
    if (regex) patterns.push(new RegExp(regex.pattern, regex.flags))
  })
  return patterns
}

// Uses the automaton checker: fuzzing depends on the speed of the machine. A pattern without an automaton counts as slow.
function slow(pattern: RegExp): boolean {
  return checkSync(pattern.source, pattern.flags, { checker: 'automaton', timeout: 60_000 }).status !== 'safe'
}

test('finds a pattern that a text can keep busy', () => {
  expect(patternsIn('const found = /^(a+)+$/.test(text)').filter(slow)).toEqual([/^(a+)+$/])
})

test.each(names)('@spillway/%s has none', { timeout: 120_000 }, (name) => {
  const dist = join(installed(app, name), 'dist')
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.js') && !file.startsWith('cjs'),
  )
  const patterns = files.flatMap((file) => patternsIn(readFileSync(join(dist, file), 'utf8')))
  expect(patterns.filter(slow)).toEqual([])
})
