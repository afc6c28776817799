import { fakeClock, modelStore } from '@spillway/conformance'
import { rateLimiter, type Store, tokenBucket } from '@spillway/core'
import { expect, test } from 'vitest'

// The faults of seeds 2, 3 and 4 that lie between a program and its server. What was published needs that server to be
// shown, and is reported here with the numbers that were measured; what is ours is what every store is asked to do.

/** A store that answers like a remote one, and records its calls. */
function elsewhere() {
  const inner = modelStore(fakeClock())
  const asked: string[][] = []
  const store: Store = {
    take: async (ops) => {
      asked.push(ops.map(({ policy, key }) => `${policy} ${key}`))
      await Promise.resolve()
      return inner.takeSync(ops)
    },
    delete: inner.delete,
  }
  return { asked, store }
}

const quota = tokenBucket({ limit: 1, per: '1s', burst: 10 })

// C4: rate-limiter:last-checked-ts and rate-limiter:tokens-count lie in slots 1156 and 4748: CROSSSLOT on a cluster.
// G2: the limits are passed as keys: CROSSSLOT always.
test('C4, G2: a decision names one state a policy, and nothing but that', async () => {
  const { asked, store } = elsewhere()
  await rateLimiter({ quota, store }).consume('alice')
  expect(asked).toEqual([['default alice']])
})

// C7: the whole script is sent with each request, which also logs a warning. G6: six commands per call.
test('C7, G6: a decision is one call, however many quotas it asks', async () => {
  const { asked, store } = elsewhere()
  const limiter = rateLimiter({ quotas: { burst: quota, daily: tokenBucket({ limit: 9, per: '1d' }) }, store })
  for (let i = 0; i < 3; i++) await limiter.consume('alice')
  expect(asked).toHaveLength(3)
})

// P5: eight sessions on cold keys, and five callers get "duplicate key value violates unique constraint".
test('P5: eight callers at once on each of 200 cold keys get one bucket each, and no error', async () => {
  const { store } = elsewhere()
  const limiter = rateLimiter({ quota, store })
  const calls = Array.from({ length: 1_600 }, (_, i) => limiter.consume(`key ${i % 200}`, 2))
  const decisions = await Promise.all(calls)
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(200 * 5)
})

// P6: one hot key under SERIALIZABLE, eight sessions with 500 calls each: 1,185 of 4,000 fail with 40001.
test('P6: eight callers with 500 calls each on one key admit exactly the burst, and none fails', async () => {
  const { store } = elsewhere()
  const limiter = rateLimiter({ quota: tokenBucket({ limit: 1, per: '1s', burst: 400 }), store })
  const caller = async (): Promise<number> => {
    let admitted = 0
    for (let i = 0; i < 500; i++) if ((await limiter.consume('hot')).allowed) admitted++
    return admitted
  }
  const admitted = await Promise.all(Array.from({ length: 8 }, caller))
  expect(admitted.reduce((sum, each) => sum + each)).toBe(400)
})
