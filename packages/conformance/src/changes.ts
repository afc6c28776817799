import assert from 'node:assert/strict'
import {
  type Decision,
  fixedWindow,
  leakyBucket,
  type Micros,
  penalty,
  perMinute,
  type Quota,
  type Store,
  slidingLog,
  slidingWindow,
  type Taken,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { decide, stepFor, type Verb } from '@spillway/core/internal'
import { START } from './clock.ts'
import { made } from './made.ts'
import type { TestFunction } from './runner.ts'

const LIMIT = 10
const CALLS = 40
const MINUTE: Micros = 60e6

/** Ten units a minute, by every algorithm. */
const quotas: Readonly<Record<string, Quota>> = /* @__PURE__ */ made(() => ({
  'a token bucket': perMinute(LIMIT),
  'a bucket of parts of a microsecond': tokenBucket({ limit: LIMIT, per: '59999ms', burst: LIMIT }),
  'a leaky bucket': leakyBucket({ limit: LIMIT, per: '1m', queue: LIMIT - 1 }),
  'an interval refill': tokenBucket({ limit: LIMIT, per: '1m', refill: '1m' }),
  'a fixed window': fixedWindow({ limit: LIMIT, window: '1m' }),
  'a fixed window from the first request': fixedWindow({ limit: LIMIT, window: '1m', align: 'first' }),
  'a sliding window': slidingWindow({ limit: LIMIT, window: '1m' }),
  'a sliding log': slidingLog({ limit: LIMIT, window: '1m' }),
  'a key that warms up': warmingUp({ limit: LIMIT, per: '1m', warmUpPeriod: '1m' }),
  'a penalty': penalty({ after: LIMIT, within: '1m', block: '1m' }),
}))

const take = async (store: Store, key: string, quota: Quota, at: Micros): Promise<Decision> => {
  const step = stepFor(quota, 'consume', 1)
  const [taken] = await store.take([{ policy: 'p', key, step }], at)
  return decide('p', quota, 1, step, taken as Taken)
}

type Named = readonly [name: string, quota: Quota]

/** All of these at once, each with a key of its own: a store that batches the calls of a tick answers in fewer round trips. */
async function ofEach(all: readonly Named[], body: (name: string, quota: Quota) => Promise<void>): Promise<void> {
  await Promise.all(all.map(([name, quota]) => body(name, quota)))
}

/** Takes a unit by each of two quotas in turn, and returns how many are allowed. */
async function takeInTurn(store: Store, key: string, quotas: readonly [Quota, Quota]): Promise<number> {
  let allowed = 0
  for (let i = 0; i < CALLS; i++) if ((await take(store, key, quotas[i % 2] as Quota, START)).allowed) allowed++
  return allowed
}

/** Takes by one quota, and then by the other, of another key. */
async function takeOnce(store: Store, key: string, [before, after]: readonly [Quota, Quota]): Promise<number> {
  return (
    (await takeInTurn(store, `${key}, once`, [before, before])) +
    (await takeInTurn(store, `${key}, once`, [after, after]))
  )
}

/**
 * Tests that a key whose policy changes its algorithm is not a new key: in a rolling deploy, processes of both versions count
 * it in turn.
 */
export function testChanges(test: TestFunction, makeStore: () => Store | Promise<Store>): void {
  for (const [from, before] of Object.entries(quotas)) {
    const isChange = ({ kernel }: Quota): boolean => kernel !== 'bucket' || kernel !== before.kernel
    const changes = Object.entries(quotas).filter(([, after]) => isChange(after))
    const refills = Object.entries(quotas).filter(([to, after]) => to !== from && !isChange(after))

    // One kernel reads all buckets, and takes a state that is too far ahead for one of a clock that has stepped back. So each
    // undoes what the other has counted: docs/guides/failure.md has this bound.
    test(`bounds what it admits while processes change the refill of ${from}`, async () => {
      const store = await makeStore()
      await ofEach(refills, async (to, after) => {
        const [inTurn, once] = [
          await takeInTurn(store, to, [before, after]),
          await takeOnce(store, to, [before, after]),
        ]
        assert.ok(inTurn <= CALLS / 2 + LIMIT, `${from} and ${to} allowed ${inTurn}`)
        assert.ok(once <= 2 * LIMIT, `${from}, then ${to} allowed ${once}`)
      })
    })

    test(`admits no more than the quota while processes change ${from} to another algorithm`, async () => {
      const store = await makeStore()
      await ofEach(changes, async (to, after) => {
        // Each forgot what the other had counted: half of all requests were allowed, or all of them.
        const allowed = await takeInTurn(store, to, [before, after])
        assert.ok(allowed <= LIMIT, `${from} and ${to} allowed ${allowed}`)
      })
    })

    test(`allows again what it denies after a change of ${from} to another algorithm`, async () => {
      const store = await makeStore()
      await ofEach(changes, async (to, after) => {
        await takeInTurn(store, to, [before, before])
        const { allowed, retryAfterMs } = await take(store, to, after, START)
        if (allowed) return
        const at = START + retryAfterMs * 1000
        assert.ok(at <= START + 3 * MINUTE, `${from} to ${to} denies for ${retryAfterMs} ms`)
        const [early, due] = [await take(store, to, after, at - 1), await take(store, to, after, at)]
        assert.deepEqual([early.allowed, due.allowed], [false, true], `${from} to ${to}`)
      })
    })
  }

  // Slots were cut by the shorter of two ttl, before their holder renewed them.
  test('keeps slots while another ttl or limit counts them', async () => {
    const store = await makeStore()
    const slots = (limit: number, ttl: string) => inFlight(limit, { ttl: ttl as '1s' })
    const [long, short] = [slots(LIMIT, '1m'), slots(LIMIT - 5, '1s')]
    const [all] = await store.take([{ policy: 'p', key: 'k', step: stepFor(long, 'consume', LIMIT - 1) }], START)
    const by = async (quota: Quota, verb: Verb, cost: number, at: Micros, original?: Taken): Promise<Decision> => {
      const step = stepFor(quota, verb, cost, original && { original })
      const [taken] = await store.take([{ policy: 'p', key: 'k', step }], at)
      return decide('p', quota, cost, step, taken as Taken)
    }
    assert.equal((await by(short, 'consume', 1, START + 1e6)).allowed, false)
    assert.equal((await by(long, 'consume', 1, START + 2e6)).allowed, true)
    assert.equal((await by(long, 'consume', 1, START + 50e6)).allowed, false)
    assert.equal((await by(long, 'charge', LIMIT - 1, START + 50e6, all)).remaining, 0)
    // The clock steps back: what nothing renews is free after the longest ttl, and after the shorter one when only such are left.
    assert.equal((await by(short, 'consume', 1, START - 50e6)).allowed, false)
    assert.equal((await by(long, 'consume', LIMIT, START + 10e6 - 1)).allowed, false)
    assert.equal((await by(short, 'consume', LIMIT - 5, START + 10e6)).allowed, true)
    assert.equal((await by(short, 'consume', 1, START - 50e6)).allowed, false)
    assert.equal((await by(short, 'consume', LIMIT - 5, START - 49e6)).allowed, true)
  })

  // Units that were consumed are not in use, and slots in use consume nothing.
  test('counts nothing after a change between slots and another algorithm', async () => {
    const store = await makeStore()
    const slots = inFlight(LIMIT, { ttl: '1m' })
    await ofEach(Object.entries(quotas), async (key, quota) => {
      const all = stepFor(slots, 'consume', LIMIT)
      const answers: Taken[] = []
      for (const [i, step] of [all, stepFor(quota, 'consume', 1), all, stepFor(slots, 'consume', 1)].entries()) {
        // Numbers of slots are times: those of a new state begin after those of one that is gone.
        answers.push(...(await store.take([{ policy: 'p', key, step }], START + i * LIMIT)))
      }
      assert.deepEqual(
        answers.map(({ allowed }) => allowed),
        [true, true, true, false],
        key,
      )
      // Its slots went with the first change.
      const original = answers[0] as Taken
      const late = stepFor(slots, 'refund', LIMIT, { original })
      const [released] = await store.take([{ policy: 'p', key, step: late }], START + 4 * LIMIT)
      assert.equal(decide('p', slots, 1, late, released as Taken).remaining, 0, key)
    })
  })
}
