import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { inOrder } from '../src/http/pipeline/lean.ts'

// A feature that replaces what a seam does must not replace what another has added to it.
test('a lean entry installs features in the order of the full one, whatever the order in which they are named', () => {
  const source = readFileSync(new URL('../src/features/index.ts', import.meta.url), 'utf8')
  const [, list = ''] = /const ALL: readonly Feature\[\] = \[([^\]]*)\]/.exec(source) ?? []
  const names = (list.match(/\w+/g) ?? []).filter((name) => name !== 'hints')
  expect(names.length).toBeGreaterThan(15)
  const reversed = names.toReversed().map((name) => ({ name, layers: {} }))
  expect(inOrder(reversed).map(({ name }) => name)).toEqual(names)
})
