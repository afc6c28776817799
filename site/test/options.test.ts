import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { optionsPage } from '../options.ts'

const page = join(fileURLToPath(new URL('../..', import.meta.url)), 'docs/options.md')

// An option without a description, or an optional one without a default, fails here: the page is made of the types.
test('the options page lists every option as its type and doc comment have it; run with --update to write it', async () => {
  await expect(optionsPage()).toMatchFileSnapshot(page)
})
