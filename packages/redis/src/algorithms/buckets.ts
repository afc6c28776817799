import type { BucketTaken, Micros, Step } from '@spillway/core'
import type { Reply } from '../call.ts'
import { bucketLua } from '../lua/bucket.ts'
import type { Algorithm } from './algorithm.ts'
import { encodePlain } from './plain-buckets.ts'

/** The algorithm of token buckets, queues, and refills at intervals. */
export const bucketAlgorithm: Algorithm<'bucket'> = {
  kernel: 'bucket',
  lua: bucketLua,
  read: bucketOf,
  encode: encodePlain,
}

function bucketOf(answer: number, now: Micros, { fraction }: Step & { kernel: 'bucket' }, reply: Reply): BucketTaken {
  const allowed = answer > 0
  const base = now + reply.number()
  const tat = base + reply.number()
  const taken = { allowed, now, base, tat }
  const of =
    fraction === null
      ? taken
      : { ...taken, early: { scale: fraction.scale, base: reply.number(), tat: reply.number() } }
  if (answer !== 2) return of
  return { ...of, gross: { tick: tat + reply.number(), early: fraction === null ? 0 : reply.number() } }
}
