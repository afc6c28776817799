import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureDependencies, program, root } from './ensure.mjs'

program(() => {
  ensureDependencies()
  const args = ['--import', 'tsx', join(root, 'demo/main.ts'), ...process.argv.slice(2)]
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1
})
