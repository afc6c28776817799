import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { QuotaError } from '@spillway/core'
import { expect, test } from 'vitest'
import { adaptive, OverloadError, type Permit, shed, shedder } from '../src/index.ts'
import { SimulatedTime } from './simulated.ts'

test('a permit ends when its block does', async () => {
  const overload = shedder({ limit: 1 })
  {
    await using permit = await overload.acquire()
    expect(permit.allowed).toBe(true)
    expect(overload.stats().inFlight).toBe(1)
  }
  expect(overload.stats()).toMatchObject({ inFlight: 0, allowed: 1 })
})

test('a dropped call says why, and disposing of it does nothing', async () => {
  const overload = shedder({ limit: 1, queue: 0, retryAfter: '2s' })
  const permit = (await overload.acquire()) as Permit
  {
    await using dropped = await overload.acquire()
    expect(dropped).toMatchObject({ allowed: false, reason: 'concurrency-limit' })
    if (!dropped.allowed) {
      expect(dropped.retryAfterMs).toBeGreaterThanOrEqual(1_000)
      expect(dropped.retryAfterMs).toBeLessThanOrEqual(3_000)
    }
  }
  expect(overload.stats().inFlight).toBe(1)
  permit.fail()
  permit.succeed()
  permit.abort()
  await permit[Symbol.asyncDispose]()
  expect(overload.stats().inFlight).toBe(0)
})

test('run returns what the function does, and ends its permit if it throws', async () => {
  const overload = shedder({ limit: 1, queue: 0 })
  expect(await overload.run(async () => 5)).toBe(5)
  expect(await overload.run(() => 6)).toBe(6)
  await expect(
    overload.run(() => {
      throw new Error('broken')
    }),
  ).rejects.toThrow('broken')
  await overload.run(async () => {
    const error = await overload.run(() => 7).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(OverloadError)
    expect(error).toMatchObject({ code: 'ERR_SPILLWAY_OVERLOAD', reason: 'concurrency-limit' })
  })
  expect(overload.stats()).toMatchObject({ inFlight: 0, allowed: 4, dropped: { 'concurrency-limit': 1 } })
})

test('without a queue, calls that compute for long in one turn of the loop are not dropped', async () => {
  const overload = shedder({ limit: 1, queue: 0 })
  const compute = (): void => {
    const end = performance.now() + 3
    while (performance.now() < end);
  }
  for (let i = 0; i < 3; i++) await overload.run(compute)
  expect(overload.stats().dropped['concurrency-limit']).toBe(0)
})

test('calls that compute start in several turns of the loop, so that it sees what has arrived', async () => {
  const overload = shedder({ limit: 1, interval: '1h' })
  let turns = 0
  const next = (): void => {
    turns += 1
    if (turns < 100) setImmediate(next)
  }
  setImmediate(next)
  const calls = Array.from({ length: 10 }, () =>
    overload.run(() => {
      const end = performance.now() + 3
      while (performance.now() < end);
    }),
  )
  await Promise.all(calls)
  expect(turns).toBeGreaterThanOrEqual(5)
})

test('a signal that aborts takes its call out of the queue', async () => {
  const overload = shedder({ limit: 1, interval: '1h' })
  const permit = (await overload.acquire()) as Permit
  const controller = new AbortController()
  const waiting = overload.acquire({ signal: controller.signal })
  expect(overload.stats().queued).toBe(1)
  controller.abort(new Error('left'))
  await expect(waiting).rejects.toThrow('left')
  await expect(overload.acquire({ signal: controller.signal })).rejects.toThrow('left')
  expect(overload.stats().queued).toBe(0)
  // One that aborts later changes nothing.
  const late = new AbortController()
  const next = overload.acquire({ signal: late.signal })
  permit.succeed()
  const second = (await next) as Permit
  late.abort()
  expect(overload.stats()).toMatchObject({ inFlight: 1, queued: 0 })
  second.succeed()
})

test('decisions are reported to a listener, which may throw, and on a channel', async () => {
  const [warnings, seen, published]: [string[], unknown[], unknown[]] = [[], [], []]
  const listen = (event: unknown): void => void published.push(event)
  subscribe('spillway:shed', listen)
  const time = new SimulatedTime()
  const overload = shedder({
    limit: 1,
    clock: time,
    logger: { warn: (message) => warnings.push(message) },
    onDecision: (event) => {
      seen.push(event)
      throw new Error('broken')
    },
  })
  const permit = (await overload.acquire({ priority: 'critical' })) as Permit
  const waiting = overload.acquire()
  time.runUntil(4)
  permit.succeed()
  await waiting
  unsubscribe('spillway:shed', listen)
  expect(seen).toEqual([
    { allowed: true, reason: undefined, priority: 'critical', waitedMs: 0, limit: 1, inFlight: 1, queued: 0 },
    { allowed: true, reason: undefined, priority: 'default', waitedMs: 4, limit: 1, inFlight: 1, queued: 0 },
  ])
  expect(published).toEqual(seen)
  expect(warnings).toEqual([expect.stringMatching(/onDecision threw: broken/)])
})

test.each<[string, () => unknown, RegExp]>([
  ['a limit of none', () => shedder({ limit: 0 }), /limit must be a whole number, 1 or more; got 0/],
  ['a fraction', () => shedder({ limit: 1.5 }), /limit must be a whole number, 1 or more; got 1.5/],
  ['another limit', () => shedder({ limit: '10' as never }), /limit must be adaptive.*; got "10"/],
  [
    'bounds in place of adaptive',
    () => shedder({ limit: { max: 5 } as never }),
    /limit must be adaptive.*; got an object/,
  ],
  [
    'a misspelt option',
    () => shedder({ limits: 5 } as never),
    /shedder has no option "limits". Did you mean "limit"\?/,
  ],
  [
    'a misspelt option of shed',
    () => shed({ fairBye: () => '' } as never),
    /shed has no option "fairBye". Did you mean "fairBy"/,
  ],
  ['a misspelt bound', () => adaptive({ maximum: 5 } as never), /adaptive has no option "maximum"/],
  ['bounds the wrong way', () => adaptive({ min: 5, max: 4 }), /max must be min or more.*got 5 and 4/],
  [
    'a start outside',
    () => adaptive({ max: 10, initial: 20 }),
    /initial must be between min and max, 1 and 10; got 20/,
  ],
  ['a queue below 0', () => shedder({ queue: -1 }), /queue must be a whole number, 0 or more; got -1/],
  ['a target without a unit', () => shedder({ target: '5' as never }), /target must be a positive duration/],
  ['an interval too short', () => shedder({ interval: '8ms' }), /interval must be twice the target, 10 ms, or longer/],
  ['all for the highest', () => shedder({ reserve: 1 }), /reserve must be a share of the limit, 0 to 0.9; got 1/],
  ['a priority in place of a function', () => shed({ priority: 'critical' as never }), /priority must be a function/],
  ['another shedder', () => shed({ shedder: {} as never }), /shedder must be made by shedder/],
  ['options of both', () => shed({ shedder: shedder(), limit: 5 }), /limit is an option of the shedder/],
  ['a clock without timers', () => shedder({ clock: { now: () => 0 } as never }), /clock must have now\(\)/],
  ['null', () => shedder({ limit: null as never }), /shedder limit is null/],
])('%s is an error that says what to write', (_, call, message) => {
  expect(call).toThrow(QuotaError)
  expect(call).toThrow(message)
})

test.each<[string, object, RegExp]>([
  ['a priority', { priority: 'crucial' }, /priority must be 'critical', 'default' or 'sheddable'; got "crucial"/],
  ['a key', { key: 5 }, /the key of a call must be a text; got 5/],
  ['a misspelt option', { priorities: 'critical' }, /acquire has no option "priorities". Did you mean "priority"/],
  ['a signal', { signal: {} }, /signal must be an AbortSignal/],
])('an acquisition with %s that is wrong rejects, and holds nothing', async (_, call, message) => {
  const overload = shedder()
  await expect(overload.acquire(call as never)).rejects.toThrow(message)
  expect(overload.stats().inFlight).toBe(0)
})

test('bounds have defaults that fit each other', () => {
  expect(adaptive()).toEqual({ kind: 'adaptive', min: 1, max: 1_000, initial: 20 })
  expect(adaptive({ max: 10 }).initial).toBe(10)
  expect(adaptive({ min: 50 }).initial).toBe(50)
  expect(adaptive({ min: 5_000 })).toMatchObject({ max: 5_000, initial: 5_000 })
})
