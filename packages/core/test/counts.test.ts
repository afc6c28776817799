import { fakeClock, modelStore } from '@spillway/conformance'
import { expect, test } from 'vitest'
import {
  divideQuota,
  limitStream,
  perMinute,
  rateLimiter,
  sharedQuotaBounds,
  withDenyCache,
  withLeases,
} from '../src/index.ts'

const quota = perMinute(10)
const store = modelStore(fakeClock())
const limiter = rateLimiter({ quota, store })

// They had the code of invalid quotas, whose page does not explain them, or proposed no number.
test.each<[name: string, least: number, call: (count: number) => unknown]>([
  ['replicas', 1, (replicas) => rateLimiter({ quota, replicas, store })],
  ['list limit', 1, (limit) => limiter.list({ limit })],
  ['list scan', 1, (scan) => limiter.list({ scan })],
  ['limitStream ahead', 1, (ahead) => limitStream([], { limiter, key: 'ann', ahead })],
  ['divideQuota replicas', 1, (replicas) => divideQuota(quota, { replicas })],
  ['sharedQuotaBounds processes', 1, (processes) => sharedQuotaBounds(quota, { processes })],
  ['maxKeys', 1, (maxKeys) => withDenyCache(store, { maxKeys })],
  ['requests', 2, (requests) => withLeases(store, { requests })],
])('%s of 0.4 is an invalid option', async (name, least, call) => {
  await expect(async () => call(0.4)).rejects.toMatchObject({
    code: 'ERR_SPILLWAY_OPTION',
    message: expect.stringContaining(`${name} must be a whole number, ${least} or more; got 0.4. Use ${least}. [`),
  })
})
