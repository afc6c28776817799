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

  test('has nothing amiss', () => expect(complaints).toEqual([]))

  test('explains its names, and the members of what users write or read', () => {
    expect(unexplained(text)).toEqual([])
    expect(unexplainedMembers(text)).toEqual([])
  })
})

/** The names of a report that have no explanation: an editor shows each overload with its own. */
function unexplained(report: string): readonly string[] {
  const declarations = report.matchAll(/^\/\/ @public \(undocumented\)\n(?:(?:export|declare|abstract) )*\w+ (\w+)/gm)
  return [...declarations].map(([, name = '']) => name)
}

/** What users write or read, and authors of adapters; the rest is for authors of stores, who read the sources. */
const EVERYDAY =
  /(Options|Decision|Error|Event|Info|RateLimit|RateLimiter|RequestReader|Denial|Reservation|RulePolicy|RuleMatch|Take|Verdict|Store)$/
/** Structural types of clients and stores that others make: their own documents explain them. */
const OTHERS = /^(Legacy)?ExpressRateLimitStore$/

/** The members of such declarations that have no explanation. */
function unexplainedMembers(report: string): readonly string[] {
  const declarations = report.matchAll(/^(?:(?:export|declare|abstract) )*\w+ (\w+).*\{\n([\s\S]*?)^\}/gm)
  return [...declarations]
    .filter(([, name = '']) => EVERYDAY.test(name) && !OTHERS.test(name))
    .flatMap(([, name, body = '']) =>
      [...body.matchAll(/\/\/ \(undocumented\)\n +(.*)/g)].map(([, member]) => `${name}: ${member}`),
    )
}

test('the check finds a name that nothing explains, an overload, and a member', () => {
  const report = [
    '// @public (undocumented)\nexport interface Bare {\n}',
    '// @public\nexport function known(a: string): void;',
    '// @public (undocumented)\nexport function known(a: number): void;',
    '// @public\nexport interface BareOptions {\n    // (undocumented)\n    readonly limit: number;\n    readonly per: string;\n}',
  ].join('\n\n')
  expect(unexplained(report)).toEqual(['Bare', 'known'])
  expect(unexplainedMembers(report)).toEqual(['BareOptions: readonly limit: number;'])
})
