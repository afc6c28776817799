import { runInNewContext } from 'node:vm'
import type { Quota } from '@spillway/core'
import * as core from '@spillway/core'
import { expect, inject, test } from 'vitest'
import { bundleOf } from './bundle.ts'

// A bundle has the algorithms of its quotas only. Each runs in a global object of its own, as in a process of its own.

const app = inject('app')

type Bundle = Pick<typeof core, 'rateLimiter'> & {
  readonly memoryStore: () => core.SyncStore
  readonly build: () => Quota
}

async function bundleWith(name: string, call: string): Promise<Bundle> {
  const code = `
    import { ${name}, memoryStore, rateLimiter } from '@spillway/memory'
    export { memoryStore, rateLimiter }
    export const build = () => ${call}`
  const { text } = await bundleOf(app, code, { format: 'iife', globalName: 'bundle' })
  return runInNewContext(`${text};bundle`, { console, performance, setTimeout, clearTimeout }) as Bundle
}

const quotas: readonly [name: keyof typeof core, call: string][] = [
  ['perMinute', 'perMinute(2)'],
  ['tokenBucket', "tokenBucket({ limit: 2, per: '1m', refill: '30s' })"],
  ['leakyBucket', "leakyBucket({ limit: 2, per: '1m', queue: 1 })"],
  ['fixedWindow', "fixedWindow({ limit: 2, window: '1m' })"],
  ['fixedWindow', "fixedWindow({ limit: 2, window: '1m', align: 'first' })"],
  ['slidingWindow', "slidingWindow({ limit: 2, window: '1m' })"],
  ['slidingLog', "slidingLog({ limit: 2, window: '1m' })"],
  ['warmingUp', "warmingUp({ limit: 2, per: '1m', warmUpPeriod: '10s' })"],
  ['perMonth', 'perMonth(2)'],
  ['calendarWindow', "calendarWindow({ limit: 2, unit: 'day' })"],
  ['penalty', "penalty({ after: 2, within: '1m', block: '1h' })"],
]

test.each(quotas)('a bundle with %s alone can enforce %s', async (name, call) => {
  const { build, memoryStore, rateLimiter } = await bundleWith(name, call)
  const blocking = rateLimiter({ quota: build(), store: memoryStore(), blocks: true, replicas: 2 })
  const decisions = [1, 2, 3].map(() => blocking.consumeSync('ann').allowed)
  expect(decisions.filter(Boolean).length).toBe(name === 'warmingUp' ? 1 : 2)
  await blocking.block('ben', '1h')
  expect(blocking.consumeSync('ben').allowed).toBe(false)
})

test('a quota of an algorithm that a bundle does not have is rejected when the limiter is built', async () => {
  const { memoryStore, rateLimiter } = await bundleWith('perMinute', 'perMinute(2)')
  const quota = core.slidingWindow({ limit: 2, window: '1m' })
  expect(() => rateLimiter({ quota, store: memoryStore() })).toThrow('quota must be built by perMinute(100)')
})

const lean =
  "import { perMinute as lean } from '@spillway/memory/lean'; import { memoryStore, rateLimiter } from '@spillway/memory'"

test('a quota of a lean entry is rejected by a limiter that does more than it brings, when the limiter is built', async () => {
  const code = `${lean}; export const build = () => rateLimiter({ quota: lean(2), store: memoryStore() })`
  const { text } = await bundleOf(app, code, { format: 'iife', globalName: 'bundle' })
  const { build } = runInNewContext(`${text};bundle`, { console, performance }) as { build: () => unknown }
  expect(build).toThrow("Import perMinute from '@spillway/core'")
})

test.each(['lean(1), perMinute(1)', 'perMinute(1), lean(1)'])(
  'where the whole algorithm is there, too, both quotas of %s have it',
  async (quotas) => {
    const code = `${lean}; import { perMinute } from '@spillway/core'
      export const limiters = [${quotas}].map((quota) => rateLimiter({ quota, store: memoryStore() }))`
    const { text } = await bundleOf(app, code, { format: 'iife', globalName: 'bundle' })
    const { limiters } = runInNewContext(`${text};bundle`, { console, performance }) as {
      limiters: core.SyncRateLimiter[]
    }
    for (const limiter of limiters) {
      expect([1, 2].map(() => limiter.consumeSync('ann').allowed)).toEqual([true, false])
      await limiter.refund('ann')
      expect(limiter.consumeSync('ann').allowed).toBe(true)
    }
  },
)

test('a bundle runs a quota of another one in the same process', async () => {
  const code = (names: string): string => `export { ${names} } from '@spillway/memory'`
  const [one, two] = await Promise.all(
    ['slidingLog', 'memoryStore, rateLimiter'].map((names) =>
      bundleOf(app, code(names), { format: 'iife', globalName: 'bundle' }),
    ),
  )
  const { slidingLog, memoryStore, rateLimiter } = runInNewContext(
    `const one = (() => { ${one?.text}; return bundle })(), two = (() => { ${two?.text}; return bundle })(); ({ ...one, ...two })`,
    { console, performance },
  ) as typeof core & Pick<Bundle, 'memoryStore'>
  const limiter = rateLimiter({ quota: slidingLog({ limit: 1, window: '1m' }), store: memoryStore() })
  expect([1, 2].map(() => limiter.consumeSync('ann').allowed)).toEqual([true, false])
})
