import {
  type BucketTaken,
  penalty,
  perMinute,
  type Quota,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from '../src/runtime/world.ts'

const quotas: readonly Quota[] = [
  perMinute(10),
  tokenBucket({ limit: 7, per: '1s' }),
  tokenBucket({ limit: 12, per: '1m', refill: '10s' }),
  slidingWindow({ limit: 10, window: '1m' }),
  slidingLog({ limit: 10, window: '1m' }),
  warmingUp({ limit: 10, per: '1s', warmUpPeriod: '10s' }),
  penalty({ after: 4, within: '10s', block: '30s', grow: 2, max: '5m' }),
  inFlight(4, { ttl: '10s' }),
]
const verbs: readonly Verb[] = ['consume', 'consume', 'consume', 'peek', 'refund', 'charge']

/** Calls of every quota. */
export const histories = fc.array(
  fc.record({
    quota: fc.nat(quotas.length - 1),
    other: fc.option(fc.nat(quotas.length - 1)),
    verb: fc.constantFrom(...verbs),
    cost: fc.integer({ min: 1, max: 4 }),
    key: fc.constantFrom('a', 'b'),
    afterMs: fc.constantFrom(0, 0, 1, 700, 20_000, -5_000),
    settles: fc.boolean(),
  }),
  { minLength: 1, maxLength: 25 },
)

type History = typeof histories extends fc.Arbitrary<infer T> ? T : never

/** Makes the calls of a history, one after the other. */
export async function play(store: Store, calls: History): Promise<void> {
  let now = START
  const taken = new Map<number, BucketTaken>()
  for (const { quota, other, verb, cost, key, afterMs, settles } of calls) {
    now += afterMs * 1000
    const isOfSlots = quotas[quota]?.kernel === 'slots' && verb === 'charge'
    const original = settles && (verb === 'refund' || isOfSlots) ? taken.get(quota) : undefined
    const step = stepFor(quotas[quota] as Quota, verb, cost, original && { original })
    const ops = [{ policy: `p${quota}`, key, step }]
    if (other !== null && other !== quota && verb === 'consume')
      ops.push({ policy: `p${other}`, key, step: stepFor(quotas[other] as Quota, verb, cost) })
    const [first] = await store.take(ops, now)
    if (verb === 'consume') taken.set(quota, first as BucketTaken)
  }
}

/** Makes calls for two keys in one tick, and returns which are allowed. */
export async function tick(store: Store): Promise<readonly (boolean | undefined)[]> {
  const step = stepFor(perMinute(10), 'consume', 3)
  const other = stepFor(tokenBucket({ limit: 7, per: '1s' }), 'consume', 2)
  const answers = await Promise.all([
    ...Array.from({ length: 5 }, () => store.take([{ policy: 'p', key: 'a', step }], START)),
    ...Array.from({ length: 4 }, () => store.take([{ policy: 'q', key: 'b', step: other }], START)),
  ])
  return answers.map(([taken]) => taken?.allowed)
}

/** What `tick` returns for new keys. */
export const TICK: readonly boolean[] = [true, true, true, false, false, true, true, true, false]
