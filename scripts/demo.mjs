import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureDependencies, program } from './ensure.mjs'
import { root } from './install.mjs'

program(() => {
  ensureDependencies()
  // At once: to load eight frameworks takes a second or more.
  console.log('Spillway in 8 frameworks and Node: 4 clients each, 5 units a second, burst 10.')
  const args = ['--import', 'tsx', join(root, 'demo/main.ts'), ...process.argv.slice(2)]
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1
})
