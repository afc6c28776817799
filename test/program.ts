import { fileURLToPath } from 'node:url'

/**
 * The arguments of Node for a program of the tests in TypeScript. `npm test` builds the packages first, and programs then import
 * their builds: tsx takes three times as long to load all sources as to start with none.
 */
export const PROGRAM: readonly string[] = [
  ...['--import', 'tsx'],
  ...(process.env['BUILT'] ? ['--import', fileURLToPath(new URL('../bench/built.mjs', import.meta.url))] : []),
]
