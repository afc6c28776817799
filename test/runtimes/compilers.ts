import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { COMPILERS } from './project.ts'

/** Under what the declarations have been compiled, and what went wrong. */
export interface Compiled {
  readonly compilers: readonly string[]
  readonly resolutions: readonly string[]
  readonly failures: readonly string[]
}

/** How a compiler looks for modules, and what it is given to compile. `node16` lets no CommonJS require an ES module. */
const RESOLUTIONS: Readonly<Record<string, readonly string[]>> = {
  node16: ['--module', 'node16', 'user.mts'],
  nodenext: ['--module', 'nodenext', 'user.mts', 'user.cts'],
  bundler: ['--module', 'esnext', 'user.mts'],
}

const OPTIONS =
  '--noEmit --strict --exactOptionalPropertyTypes --target es2022 --lib es2023 --types node --skipLibCheck false'

// Declarations of others contradict each other now and then.
const isOurs = (line: string): boolean => line.includes('error TS') && !/^node_modules\/(?!@spillway\/)/.test(line)

/** Compiles what a user writes, by every compiler in every way. */
export function compileUser(folder: string): Compiled {
  const failures: string[] = []
  for (const [name, version] of Object.entries(COMPILERS)) {
    for (const [resolution, rest] of Object.entries(RESOLUTIONS)) {
      const args = [...OPTIONS.split(' '), '--moduleResolution', resolution, ...rest]
      const tsc = join('node_modules', name, 'bin/tsc')
      const { stdout } = spawnSync(process.execPath, [tsc, ...args], { cwd: folder, encoding: 'utf8' })
      failures.push(
        ...stdout
          .split('\n')
          .filter(isOurs)
          .map((line) => `TypeScript ${version}, ${resolution}: ${line}`),
      )
    }
  }
  return { compilers: Object.values(COMPILERS), resolutions: Object.keys(RESOLUTIONS), failures }
}
