import { createHash } from 'node:crypto'
import { bucketLua } from './lua/bucket.ts'
import { slidingLogLua } from './lua/sliding-log.ts'
import { slidingWindowLua } from './lua/sliding-window.ts'
import { headLua, takeLua } from './lua/take.ts'

/** The script that takes: the three kernels, and what runs them. */
export const script: string = [headLua, bucketLua, slidingWindowLua, slidingLogLua, takeLua].join('')

/** The name under which Redis keeps the script. */
export const sha: string = createHash('sha1').update(script).digest('hex')
