// The docs site: `npm run docs` builds it into site/.vitepress/dist, `npm run docs:dev` serves it while you write.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureDependencies, program } from './ensure.mjs'
import { root } from './install.mjs'

program(() => {
  ensureDependencies()
  const site = join(root, 'site')
  for (const args of [['reference.mjs'], ['node_modules/vitepress/bin/vitepress.js', ...process.argv.slice(2)]]) {
    const { status } = spawnSync(process.execPath, args, { cwd: site, stdio: 'inherit' })
    if (status !== 0) throw new Error(`${args.join(' ')} failed`)
  }
})
