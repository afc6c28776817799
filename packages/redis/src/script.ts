import { createHash } from 'node:crypto'
import type { Step } from '@spillway/core'
import { bucketLua } from './lua/bucket.ts'
import { penaltyLua } from './lua/penalty.ts'
import { slidingLogLua } from './lua/sliding-log.ts'
import { slidingWindowLua } from './lua/sliding-window.ts'
import { headLua, runLua, takeLua } from './lua/take.ts'
import { takeBucketsLua } from './lua/take-buckets.ts'
import { warmUpLua } from './lua/warm-up.ts'

/** A script, and the SHA-1 digest under which Redis caches it. */
export interface Script {
  readonly text: string
  readonly sha: string
}

const scriptOf = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })

/** The script for calls of one plain bucket each. */
export const bucketsScript: Script = scriptOf(takeBucketsLua([headLua, bucketLua, runLua].join('')))

const kernels = {
  bucket: bucketLua,
  'sliding-window': slidingWindowLua,
  'sliding-log': slidingLogLua,
  'warm-up': warmUpLua,
  penalty: penaltyLua,
}
const scripts = new Map<string, Script>()

/** The script for these steps. Each call runs all definitions again, so it defines only the kernels that they need. */
export function scriptFor(steps: Iterable<Pick<Step, 'kernel'>>): Script {
  const needed = new Set<Step['kernel']>()
  for (const { kernel } of steps) needed.add(kernel)
  const names = (Object.keys(kernels) as Step['kernel'][]).filter((name) => needed.has(name))
  const known = scripts.get(names.join())
  if (known) return known
  const script = scriptOf([headLua, ...names.map((name) => kernels[name]), runLua, takeLua].join(''))
  scripts.set(names.join(), script)
  return script
}
