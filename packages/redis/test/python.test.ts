import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { namerOf } from '../src/name.ts'

// The guide shows the store's key names in Python. They must match the keys that the store writes.

const guide = readFileSync(new URL('../../../docs/guides/languages.md', import.meta.url), 'utf8')
const [, code] = /```python\n(import base64[\s\S]*?)```/.exec(guide) ?? []
const hasPython = spawnSync('python3', ['--version']).status === 0

test.skipIf(!hasPython)('the Python function of the guide names keys as the store does', () => {
  const states = [
    'a',
    'user:42',
    '~a',
    '',
    'é',
    '💧',
    '{a}',
    '}',
    'a b',
    'a\nb',
    'k'.repeat(64),
    'k'.repeat(65),
  ].flatMap((key) => ['default', 'api', 'défaut', 'p'.repeat(65)].map((policy) => ({ key, policy })))
  const script = `${code}\nimport json, sys\nprint(json.dumps([state_name(**each) for each in json.load(sys.stdin)]))`
  const names = execFileSync('python3', ['-c', script], { input: JSON.stringify(states), encoding: 'utf8' })
  expect(JSON.parse(names)).toEqual(states.map((state) => namerOf('spillway')(state)))
})
