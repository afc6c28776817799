import { inFlight, memoryStore, rateLimiter, type Slot } from '@spillway/memory'
import { type Clock, shedder } from '@spillway/shed'
import { expect, test } from 'vitest'
import { measure, sumsOf } from './meter.ts'

/** A clock that stands still. */
const clock: Clock = { now: () => 0, after: () => () => {} }

test('counts the calls of shedders, by outcome, priority and reason', async () => {
  const stop = measure.subscribe()
  const overload = shedder({ limit: 1, queue: 0, clock })
  await overload.acquire({ priority: 'critical' })
  await overload.acquire()
  await overload.acquire({ priority: 'sheddable' })
  stop()
  await overload.acquire()
  expect(await sumsOf('spillway.shed.calls')).toEqual([
    ['outcome=allowed priority=critical', 1],
    ['outcome=dropped priority=default shed.reason=concurrency-limit', 1],
    ['outcome=dropped priority=sheddable shed.reason=concurrency-limit', 1],
  ])
})

test('records how long calls have waited', async () => {
  let now = 0
  const stop = measure.subscribe()
  const overload = shedder({ limit: 1, maxLag: false, clock: { ...clock, now: () => now } })
  const first = await overload.acquire()
  const second = overload.acquire()
  now = 50
  if (first.allowed) first.succeed()
  await second
  stop()
  expect(await sumsOf('spillway.shed.queue.duration')).toEqual([['outcome=allowed priority=default', 0.05]])
})

test('measures the limit of a shedder, and what is in flight and queued; those of one name are added up', async () => {
  const [a, b, other] = [1, 2, 3].map((limit) => measure.shedder(shedder({ limit, clock }), limit < 3 ? 'api' : 'jobs'))
  const read = async () => Promise.all(['limit', 'in_flight', 'queued'].map((name) => sumsOf(`spillway.shed.${name}`)))
  await a?.acquire()
  await b?.acquire()
  await other?.acquire()
  const waits = a?.acquire()
  expect(await read()).toEqual([
    [
      ['shedder=api', 3],
      ['shedder=jobs', 3],
    ],
    [
      ['shedder=api', 2],
      ['shedder=jobs', 1],
    ],
    [
      ['shedder=api', 1],
      ['shedder=jobs', 0],
    ],
  ])
  void waits
})

test('measures the slots that this process holds, of few policies', async () => {
  const store = measure.store(memoryStore())
  const held: Slot[] = []
  for (let i = 0; i < 205; i++)
    held.push(await rateLimiter({ name: `p${i}`, quota: inFlight(3), store }).acquire('ann', { cost: 2 }))
  const sums = await sumsOf('spillway.slots.in_flight')
  expect(sums).toHaveLength(200)
  expect(sums.filter(([name]) => name !== 'policy=_OTHER')).toEqual(sums.slice(1).map(([name]) => [name, 2]))
  expect(sums.find(([name]) => name === 'policy=_OTHER')).toEqual(['policy=_OTHER', 12])
  for (const slot of held) await slot.release()
  expect(new Set((await sumsOf('spillway.slots.in_flight')).map(([, held]) => held))).toEqual(new Set([0]))
})

test('says what is no shedder, and no name', () => {
  expect(() => measure.shedder(undefined as never)).toThrow(/shedder must be made by shedder\({ … }\); got undefined/)
  expect(() => measure.shedder(shedder(), '')).toThrow(/the name of a shedder must be text; got ""/)
})
