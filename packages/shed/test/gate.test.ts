import { expect, test } from 'vitest'
import { type Flight, Gate } from '../src/gate.ts'
import { FixedLimit } from '../src/limit/limit.ts'
import { Queue } from '../src/queue/queue.ts'
import { Waits } from '../src/queue/standing.ts'
import type { DropReason } from '../src/queue/waiter.ts'
import { servers } from './bottlenecks.ts'
import { SimulatedTime, seeded } from './simulated.ts'

const [CRITICAL, DEFAULT, SHEDDABLE] = [0, 1, 2]

function gateOf(limit: number, most = 100, reserve = 0.1) {
  const time = new SimulatedTime()
  const gate = new Gate(new FixedLimit(limit), new Queue(most, new Waits(5, 100), 7), reserve, time, 2)
  const log: string[] = []
  const flights = new Map<string, Flight>()
  const enter = (name: string, tier = DEFAULT, key?: string): (() => void) =>
    gate.enter(tier, key, (decision: Flight | DropReason) => {
      if (typeof decision === 'string') log.push(`${name}: ${decision} at ${time.now()}`)
      else {
        log.push(`${name} starts at ${time.now()}`)
        flights.set(name, decision)
      }
    })
  const end = (name: string): void => flights.get(name)?.end('success')
  return { time, gate, log, enter, end, flights }
}

test('calls beyond the limit wait, and start in their order', () => {
  const { time, gate, log, enter, end } = gateOf(2)
  for (const name of ['a', 'b', 'c', 'd']) enter(name)
  expect([gate.inFlight, gate.queued]).toEqual([2, 2])
  time.runUntil(3)
  end('a')
  end('b')
  expect(log).toEqual(['a starts at 0', 'b starts at 0', 'c starts at 3', 'd starts at 3'])
})

test('a flight ends once', () => {
  const { gate, enter, flights } = gateOf(2)
  enter('a')
  enter('b')
  for (const ending of ['success', 'failure', 'abort'] as const) flights.get('a')?.end(ending)
  expect(gate.inFlight).toBe(1)
})

test('without a queue, a call beyond the limit is dropped at once', () => {
  const { log, enter } = gateOf(1, 0)
  enter('a')
  enter('b')
  expect(log).toEqual(['a starts at 0', 'b: concurrency-limit at 0'])
})

test('a call waits for the interval at most', () => {
  const { time, gate, log, enter } = gateOf(1)
  enter('a')
  time.runUntil(7)
  enter('b')
  time.runUntil(1_000)
  expect(log).toEqual(['a starts at 0', 'b: time-out at 107'])
  expect(gate.queued).toBe(0)
})

test('in a standing queue, the newest start first, and others wait twice the target at most', () => {
  const { time, gate, log, enter, end } = gateOf(1)
  enter('a')
  enter('old')
  for (let at = 10; at < 104; at += 2) {
    time.runUntil(at)
    enter(`${at}`)
  }
  // The oldest has waited for longer than 5 ms since 5 ms: the queue stands since 105 ms.
  time.runUntil(104)
  expect(log.slice(1)).toEqual(['old: time-out at 100'])
  expect(gate.isOverload).toBe(false)
  time.runUntil(105)
  expect(gate.isOverload).toBe(true)
  // All that came until 95 ms are dropped at once.
  expect(gate.queued).toBe(4)
  end('a')
  expect(log.at(-1)).toBe('102 starts at 105')
  time.runUntil(106)
  expect(log.at(-1)).toBe('96: time-out at 106')
})

test('an overload is over when no call has waited for long for an interval', () => {
  const { time, gate, enter, end } = gateOf(1)
  enter('a')
  enter('b')
  time.runUntil(90)
  enter('c')
  time.runUntil(105)
  expect(gate.isOverload).toBe(true)
  end('a')
  expect(gate.queued).toBe(0)
  time.runUntil(199)
  expect(gate.isOverload).toBe(true)
  time.runUntil(206)
  expect(gate.isOverload).toBe(false)
})

test('a client that leaves the queue is not served, and one that leaves twice, or too late, changes nothing', () => {
  const { time, gate, log, enter, end } = gateOf(1)
  const leaveA = enter('a')
  const leaveB = enter('b')
  const leaveC = enter('c')
  leaveA()
  leaveB()
  leaveB()
  expect([gate.inFlight, gate.queued]).toEqual([1, 1])
  end('a')
  leaveC()
  time.runUntil(1_000)
  expect(log).toEqual(['a starts at 0', 'c starts at 0'])
  expect([gate.inFlight, gate.queued]).toEqual([1, 0])
})

test('the highest priority starts first, and a full queue drops the lowest', () => {
  const { log, enter, end } = gateOf(1, 2)
  enter('a')
  enter('sheddable', SHEDDABLE)
  enter('default')
  enter('critical', CRITICAL)
  expect(log.at(-1)).toBe('sheddable: priority at 0')
  enter('sheddable 2', SHEDDABLE)
  expect(log.at(-1)).toBe('sheddable 2: priority at 0')
  enter('default 2')
  expect(log.at(-1)).toBe('default: queue-full at 0')
  end('a')
  expect(log.at(-1)).toBe('critical starts at 0')
  end('critical')
  expect(log.at(-1)).toBe('default 2 starts at 0')
})

test('a call that waits too long because others went ahead is dropped for its priority', () => {
  const { time, log, enter, end } = gateOf(1)
  enter('a')
  enter('sheddable', SHEDDABLE)
  time.runUntil(1)
  enter('critical', CRITICAL)
  end('a')
  time.runUntil(200)
  expect(log.slice(1)).toEqual(['critical starts at 1', 'sheddable: priority at 100'])
})

test('a share of the limit is kept for critical calls, while there are any', () => {
  const { time, gate, enter, end, log } = gateOf(10, 100, 0.2)
  for (let i = 0; i < 10; i++) enter(`${i}`)
  expect(gate.inFlight).toBe(10)
  for (let i = 0; i < 10; i++) end(`${i}`)
  enter('critical', CRITICAL)
  end('critical')
  for (let i = 10; i < 20; i++) enter(`${i}`)
  expect([gate.inFlight, gate.queued]).toEqual([8, 2])
  enter('critical 2', CRITICAL)
  expect(log.at(-1)).toBe('critical 2 starts at 0')
  time.runUntil(10_000)
  for (let i = 20; i < 30; i++) enter(`${i}`)
  expect(gate.inFlight).toBe(10)
})

test('a key with many calls does not delay another one', () => {
  const { log, enter, end } = gateOf(1)
  enter('a')
  for (let i = 0; i < 20; i++) enter(`elephant ${i}`, DEFAULT, 'elephant')
  enter('mouse', DEFAULT, 'mouse')
  // The elephant has eight queues: its calls may be served once in each before the mouse is.
  let last = 'a'
  for (let i = 0; i < 9; i++) {
    end(last)
    last = log.at(-1)?.replace(/ starts.*/, '') ?? ''
    if (last === 'mouse') break
  }
  expect(last).toBe('mouse')
})

test('a full queue drops a call of the key with the most', () => {
  const { log, enter } = gateOf(1, 20)
  enter('a')
  for (let i = 0; i < 20; i++) enter(`elephant ${i}`, DEFAULT, 'elephant')
  enter('mouse', DEFAULT, 'mouse')
  expect(log.at(-1)).toMatch(/^elephant \d+: queue-full/)
})

// A fifth of the calls are critical: less than the service can take.
test.each([1, 2, 3])(
  'at three times the load, all but a thousandth of the critical calls are served: seed %i',
  (seed) => {
    const { time, gate } = gateOf(20)
    const random = seeded(seed)
    const service = servers(time, 20, () => 10 + 20 * random())
    const counts = [0, 1, 2].map(() => ({ served: 0, all: 0 }))
    const arrive = (): void => {
      const share = random()
      const tier = share < 0.2 ? CRITICAL : share < 0.6 ? DEFAULT : SHEDDABLE
      const count = counts[tier] as (typeof counts)[number]
      count.all += 1
      gate.enter(tier, undefined, (flight) => {
        if (typeof flight === 'string') return
        count.served += 1
        service(() => flight.end('success'))
      })
      if (time.now() < 30_000) time.after(-Math.log(1 - random()) / 3, arrive)
    }
    arrive()
    time.runUntil(31_000)
    const [critical = 0, usual = 0, sheddable = 0] = counts.map(({ served, all }) => served / all)
    expect(critical).toBeGreaterThanOrEqual(0.999)
    expect(usual).toBeGreaterThan(0.25)
    expect(sheddable).toBeLessThan(0.05)
    expect([gate.inFlight, gate.queued]).toEqual([0, 0])
  },
)

test('nothing leaks after 300,000 calls with random endings and clients that leave', () => {
  const { time, gate } = gateOf(20, 50)
  const random = seeded(1)
  const endings = ['success', 'failure', 'abort'] as const
  let decided = 0
  let left = 0
  for (let i = 0; i < 300_000; i++) {
    let waits = true
    const leave = gate.enter(Math.floor(3 * random()), random() < 0.5 ? `${i % 300}` : undefined, (flight) => {
      waits = false
      decided += 1
      if (typeof flight === 'string') return
      time.after(40 * random(), () => {
        flight.end(endings[Math.floor(3 * random())] ?? 'abort')
        flight.end('success')
      })
    })
    if (waits && random() < 0.3) {
      left += 1
      leave()
      leave()
    }
    if (i % 4 === 0) time.runUntil(time.now() + 2 * random())
  }
  time.runUntil(time.now() + 1_000)
  expect([gate.inFlight, gate.queued, decided + left]).toEqual([0, 0, 300_000])
})
