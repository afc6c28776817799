import { expect, inject, test } from 'vitest'
import { entriesOf } from './app.ts'
import { bundleOf, sizesOf } from './bundle.ts'
import sizes from './export-sizes.json' with { type: 'json' }

// What each export alone adds to a bundle, minified with all that it imports, and gzipped.

const app = inject('app')

const budgets: Readonly<Record<string, Readonly<Record<string, number>>>> = sizes

/** The names that every adapter exports, too: they have a budget once. */
const shared = ['@spillway/memory/adapter', '@spillway/memory/lean-adapter'].flatMap((each) =>
  Object.keys(budgets[each] as object),
)

const namesIn = async (specifier: string): Promise<readonly string[]> =>
  (await bundleOf(app, `export * from '${specifier}'`)).exports

const entries = entriesOf(app)

test.each(entries)('no export of $specifier exceeds its budget', async ({ specifier }) => {
  const own = budgets[specifier] ?? {}
  const names = (await namesIn(specifier)).filter((name) => name in own || !shared.includes(name))
  const codes = names.map((name) => [name, `export { ${name} } from '${specifier}'`] as const)
  const found = await sizesOf(app, Object.fromEntries(codes))
  expect(Object.keys(found).sort()).toEqual([...names].sort())
  // Of an export without a budget, the size to write is reported.
  const over = Object.entries(found).filter(([name, size]) => !(size <= (own[name] ?? 0)))
  expect(Object.fromEntries(over)).toEqual({})
  expect(Object.keys(own).filter((name) => !names.includes(name))).toEqual([])
})
