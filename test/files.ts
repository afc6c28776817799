import { existsSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Files of a folder and the folders in it, as paths from the root; none if it is not there. Node's own search would follow the
 * links of `packages/h3/src/v1/node_modules` to 150,000 files.
 */
export function filesIn(folder: string, ending: string): readonly string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((each) => {
    const path = posix.join(folder, each.name)
    if (each.isDirectory()) return each.name === 'node_modules' ? [] : filesIn(path, ending)
    return path.endsWith(ending) ? [path] : []
  })
}
