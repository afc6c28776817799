import { createHash } from 'node:crypto'

/** A script, and the SHA-1 digest under which Redis caches it. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** Makes a script of its text. */
export const scriptOf = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })
