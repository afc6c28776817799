import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

// Stryker starts it in a copy of the repository.
const packages = join(process.cwd(), 'packages')

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string>>
}

/** Imports of packages lead to the copy: its `node_modules` are links to the original. */
const alias = readdirSync(packages).flatMap((folder) => {
  const { name, exports }: Manifest = JSON.parse(readFileSync(join(packages, folder, 'package.json'), 'utf8'))
  return Object.entries(exports ?? {}).map(([path, file]) => ({
    find: new RegExp(`^${join(name, path)}$`),
    replacement: join(packages, folder, file),
  }))
})

export default defineConfig({
  resolve: { alias },
  test: {
    // Set by scripts/mutate.mjs.
    include: (process.env['MUTATION_TESTS'] ?? '').split(','),
    setupFiles: ['test/mutation/properties.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    restoreMocks: true,
  },
})
