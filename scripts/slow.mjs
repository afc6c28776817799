// Runs tests as on a machine that is several times slower: `npm run test:slow`, or with names of files. What is fast enough
// there does not fail on a busy machine. Needs Linux on x64, and a C compiler.
//
// --times 4        how many times slower

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureAll } from './ensure.mjs'
import { root, run } from './install.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: 'string', default: '4' } },
})

if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('The clocks are those of Linux on x64.')

ensureAll()
const folder = mkdtempSync(join(tmpdir(), 'spillway-slow-'))
// PostgreSQL's user, too, loads the library.
chmodSync(folder, 0o755)
try {
  const library = join(folder, 'clocks.so')
  run('cc', ['-shared', '-fPIC', '-O2', '-o', library, 'test/slow/clocks.c'])
  const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'unit', '--project', 'shared*', ...positionals], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      LD_PRELOAD: library,
      SLOW: values.times,
      SLOW_WALL: `${BigInt(Date.now()) * 1_000_000n}`,
      SLOW_STEADY: `${process.hrtime.bigint()}`,
    },
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true })
}
