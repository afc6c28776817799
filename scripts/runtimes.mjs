import { spawnSync } from 'node:child_process'
import { ensureDependencies, program } from './ensure.mjs'
import { root } from './install.mjs'

program(() => {
  ensureDependencies()
  for (const args of [['scripts/build.mjs'], ['--import', 'tsx', 'test/runtimes/main.ts', ...process.argv.slice(2)]]) {
    const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
    if (status !== 0) throw new Error(`\`node ${args.join(' ')}\` failed.`)
  }
})
