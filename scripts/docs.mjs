// The docs site: `npm run docs` builds it into site/.vitepress/dist, `npm run docs:dev` serves it while you write.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureDependencies, program, root } from './ensure.mjs'

program(() => {
  ensureDependencies()
  const vitepress = join(root, 'site/node_modules/vitepress/bin/vitepress.js')
  const args = [vitepress, ...process.argv.slice(2)]
  process.exitCode = spawnSync(process.execPath, args, { cwd: join(root, 'site'), stdio: 'inherit' }).status ?? 1
})
