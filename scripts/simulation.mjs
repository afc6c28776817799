// Bundles the simulator, with or without a planted defect, and runs bundles.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './install.mjs'

const packages = join(root, 'packages')

/**
 * Bundles the simulator, or another file of the package: a loader of TypeScript would cost more than the simulation.
 * @param {string} name @param {import('../packages/simulation/src/defect.ts').Planted} [planted] @param {string} [source]
 */
export async function bundle(name, planted, source = 'main.ts') {
  const file = join(root, 'node_modules/.cache/simulation', `${name}.mjs`)
  const plant = {
    name: 'plant',
    /** @param {string} id */
    load(id) {
      const texts = planted?.replaced.filter(([, , file = planted.file]) => id === join(packages, file)) ?? []
      let code = texts.length > 0 ? readFileSync(id, 'utf8') : null
      for (const [text, by] of texts) {
        const times = (code?.split(text).length ?? 1) - 1
        if (times !== 1) throw new Error(`planted defect "${planted?.name}": ${id} has ${times} times ${text}`)
        code = /** @type {string} */ (code).replace(text, by)
      }
      return code
    },
  }
  const input = join(packages, 'simulation/src', source)
  const built = await rolldown({ input, platform: 'node', plugins: [plant] })
  await built.write({ file, format: 'esm' })
  return file
}

/** Runs a bundle, and returns what it prints. @param {string} file @param {string[]} given @returns {Promise<string>} */
export function run(file, given) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--max-semi-space-size=64', file, ...given], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    child.on('error', reject)
    child.on('close', () => resolve(text))
  })
}
