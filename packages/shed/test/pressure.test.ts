import { expect, test } from 'vitest'
import { nodeLoop } from '../src/load/loop.ts'
import { Pressure } from '../src/load/pressure.ts'
import { SimulatedTime, seeded } from './simulated.ts'

const [CRITICAL, DEFAULT, SHEDDABLE] = [0, 1, 2]

/**
 * A process that serves requests in 1 ms each, all in its event loop, and drops them in 0.05 ms. A turn of the loop takes what
 * has arrived. Returns how many it served in each second, and the lag at the end.
 */
function processOf(load: number, protects: boolean, tierOf: (share: number) => number = () => DEFAULT, seconds = 20) {
  const time = new SimulatedTime()
  const random = seeded(7)
  const arrived: number[] = []
  let [turns, busy, from] = [0, 0, 0]
  let lag = 0
  const read = () => {
    const now = time.now()
    lag = (now - from) / Math.max(turns, 1)
    const utilization = busy / (now - from)
    // A loop that has not turned is read again with what follows.
    if (turns > 0) [turns, busy, from] = [0, 0, now]
    return { lagMs: lag, utilization }
  }
  const pressure = new Pressure(read, 50, 0)
  const dropped = [0, 0, 0]
  const counts = [0, 0, 0]
  const perSecond = Array.from({ length: seconds }, () => 0)
  const arrive = (): void => {
    arrived.push(tierOf(random()))
    time.after(-Math.log(1 - random()) / load, arrive)
  }
  const turn = (): void => {
    turns += 1
    const batch = arrived.splice(0)
    if (batch.length === 0) {
      time.after(1, turn)
      return
    }
    const next = (): void => {
      const tier = batch.pop()
      if (tier === undefined) {
        turn()
        return
      }
      const drops = protects && pressure.check(tier, time.now()) !== undefined
      const takes = drops ? 0.05 : 1
      busy += takes
      counts[tier] = (counts[tier] as number) + 1
      if (drops) dropped[tier] = (dropped[tier] as number) + 1
      time.after(takes, () => {
        if (!drops) {
          const second = Math.floor(time.now() / 1_000)
          if (second < seconds) perSecond[second] = (perSecond[second] as number) + 1
        }
        next()
      })
    }
    next()
  }
  arrive()
  turn()
  time.runUntil(seconds * 1_000)
  const shares = dropped.map((each, tier) => 1 - each / (counts[tier] as number))
  const goodput = perSecond.slice(5).reduce((sum, each) => sum + each, 0) / (seconds - 5)
  return { goodput, waiting: arrived.length, shares }
}

test('without it, a process at twice its load lets requests wait without a bound', () => {
  expect(processOf(2, false).waiting).toBeGreaterThan(5_000)
})

test('at 0.8 times its load, nothing is dropped', () => {
  expect(processOf(0.8, true).shares[DEFAULT]).toBe(1)
})

test.each([1.5, 2, 3])('at %d times its load, few requests wait, and the process is used well', (load) => {
  const { goodput, waiting } = processOf(load, true)
  // To drop a request takes a twentieth of the time.
  const most = 1_000 * ((1 - load * 0.05) / 0.95)
  expect(goodput).toBeGreaterThan(0.9 * most)
  expect(waiting).toBeLessThan(1_000)
})

test('at twice the load, the lowest priorities are dropped first', () => {
  const tierOf = (share: number): number => (share < 0.2 ? CRITICAL : share < 0.6 ? DEFAULT : SHEDDABLE)
  const [critical = 0, usual = 0, sheddable = 0] = processOf(2, true, tierOf).shares
  expect(critical).toBeGreaterThanOrEqual(0.999)
  expect(usual).toBeGreaterThan(sheddable + 0.3)
})

test('a loop that is late but idle, as after a pause of the machine, drops nothing', () => {
  const pressure = new Pressure(() => ({ lagMs: 5_000, utilization: 0.1 }), 50, 0)
  for (let now = 0; now < 10_000; now += 10) expect(pressure.check(DEFAULT, now)).toBeUndefined()
})

test('when the lag is gone, no call is dropped any more', () => {
  let lagMs = 500
  const pressure = new Pressure(() => ({ lagMs, utilization: 1 }), 50, 0)
  const drops = (from: number, to: number): number => {
    let count = 0
    for (let now = from; now < to; now += 10) if (pressure.check(DEFAULT, now)) count += 1
    return count
  }
  expect(drops(0, 2_000)).toBeGreaterThan(100)
  lagMs = 5
  drops(2_000, 6_000)
  expect(drops(6_000, 8_000)).toBe(0)
})

test("Node's loop is read since the last reading", async () => {
  const read = nodeLoop()
  if (read === undefined) throw new Error('Node reports its event loop')
  // Two turns of timers, so that the delay of the blocked one is measured.
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await turns()
  read()
  const end = performance.now() + 200
  while (performance.now() < end);
  await turns()
  const busy = read()
  expect(busy.lagMs).toBeGreaterThan(10)
  expect(busy.utilization).toBeGreaterThan(0.3)
})
