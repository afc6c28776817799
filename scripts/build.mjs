// Builds every package anew: files that a deleted source left in dist would be published too.

import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './ensure.mjs'

const packages = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name))
for (const folder of packages) rmSync(join(folder, 'dist'), { recursive: true, force: true })

const tsc = join(root, 'node_modules/typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [tsc, '-b', ...packages], { stdio: 'inherit' })
process.exitCode = status ?? 1
