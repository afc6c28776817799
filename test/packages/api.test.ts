import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { root } from './pack.ts'
import { reportsOf } from './report.ts'

// The public surface of each entry is checked in: a change of it is seen in review. `npm run api` writes it anew.

describe.each(reportsOf(inject('app')))('$entry.specifier', ({ entry, text, complaints }) => {
  test('shows what its report says', async () => {
    const file = join(root, 'packages', entry.name, 'api', `${entry.path.slice(2) || 'index'}.md`)
    await expect(text).toMatchFileSnapshot(file)
  })

  test('explains each of its names, and has nothing amiss', () => {
    expect(unexplained(text)).toEqual([])
    expect(complaints).toEqual([])
  })
})

/** The names of a report that no declaration of theirs explains. */
function unexplained(report: string): readonly string[] {
  const declarations = [...report.matchAll(/^\/\/ @public(.*)\nexport (?:(?:declare|abstract) )?\w+ (\w+)/gm)]
  const explained = new Set(declarations.filter(([, mark]) => mark === '').map(([, , name]) => name))
  return declarations.map(([, , name = '']) => name).filter((name) => !explained.has(name))
}

test('the check finds a name that nothing explains, and no overload of one that is', () => {
  const report = [
    '// @public (undocumented)\nexport interface Bare {',
    '// @public\nexport function known(a: string): void;',
    '// @public (undocumented)\nexport function known(a: number): void;',
  ]
  expect(unexplained(report.join('\n\n'))).toEqual(['Bare'])
})
