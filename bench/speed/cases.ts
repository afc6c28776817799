// What the speed check measures. This module is bundled with the sources of each revision, so that each has loops, and
// feedback of the compiler, of its own.

import { fixedWindow, perDay, type SyncRateLimiter, tokenBucket } from '@spillway/core'
import { rateLimit } from '@spillway/fetch'
import { memoryStore, rateLimiter } from '@spillway/memory'
import type { SpeedCase, SpeedCases } from './speed-case.ts'

const AMPLE = { limit: 1_000_000, per: '1s', burst: 1_000_000_000 } as const

/** Keeps results in use, so that compilers do not remove the calls. */
const sink = { seen: 0 }

const decisions =
  (make: () => Pick<SyncRateLimiter, 'consumeSync'>): SpeedCase['make'] =>
  () => {
    const limiter = make()
    return (keys, from, to) => {
      let seen = 0
      for (let i = from; i < to; i++) seen += limiter.consumeSync(keys[i] as string).remaining
      sink.seen ^= seen
    }
  }

const store = () => memoryStore({ maxKeys: 100_000 })

const requests: SpeedCase['make'] = () => {
  const handler = rateLimit({ quota: tokenBucket(AMPLE), key: (request) => request.headers.get('x-client') ?? '' })(
    () => new Response('ok'),
  )
  return async (keys, from, to) => {
    for (let i = from; i < to; i++) {
      await handler(new Request('http://localhost/', { headers: { 'x-client': keys[i] as string } }))
    }
  }
}

export const cases: SpeedCases = {
  'one hot key': {
    keys: 'hot',
    chunk: 10_000,
    make: decisions(() => rateLimiter({ quota: tokenBucket(AMPLE), store: store() })),
  },
  'one hot key, denied': {
    keys: 'hot',
    chunk: 10_000,
    make: decisions(() => rateLimiter({ quota: perDay(1, { burst: 1 }), store: store() })),
  },
  '10,000 keys': {
    keys: 'many',
    chunk: 10_000,
    make: decisions(() => rateLimiter({ quota: tokenBucket(AMPLE), store: store() })),
  },
  'a fixed window': {
    keys: 'hot',
    chunk: 10_000,
    make: decisions(() => rateLimiter({ quota: fixedWindow({ limit: 1_000_000_000, window: '1h' }), store: store() })),
  },
  'two policies': {
    keys: 'hot',
    chunk: 10_000,
    make: decisions(() =>
      rateLimiter({ quotas: { second: tokenBucket(AMPLE), day: perDay(1_000_000_000) }, store: store() }),
    ),
  },
  'a request through fetch': { keys: 'many', chunk: 500, make: requests },
}
