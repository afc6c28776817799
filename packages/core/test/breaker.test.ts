import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { QuotaError, StoreError } from '../src/index.ts'
import { lost, setUp, well } from './circuit.ts'

describe('the circuit breaker', () => {
  test('opens after five failures in a row', async () => {
    const { outcome } = setUp()
    const outcomes: string[] = []
    for (let i = 0; i < 7; i++) outcomes.push(await outcome(lost))
    expect(outcomes).toEqual(['error', 'error', 'error', 'error', 'error', 'open', 'open'])
  })

  test('stays closed when failures are not in a row', async () => {
    const { outcome } = setUp()
    for (let i = 0; i < 20; i++) expect(await outcome(i % 5 === 4 ? well : lost)).not.toBe('open')
  })

  test('probes with one call at a time, and closes when it succeeds', async () => {
    const { circuit, outcome, open, pass } = setUp()
    await open()
    expect(circuit.health.circuit).toBe('open')
    pass(500)
    expect(circuit.health.circuit).toBe('half-open')
    let answer: (value: string) => void = () => {}
    const probe = outcome(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    expect(await Promise.all([outcome(well), outcome(well)])).toEqual(['open', 'open'])
    answer('back')
    expect(await probe).toBe('back')
    expect(await Promise.all([outcome(well), outcome(well)])).toEqual(['well', 'well'])
    expect(circuit.health.circuit).toBe('closed')
  })

  // Workers stop a request whose client has left, with its timers: the circuit then stayed half-open for ever.
  test('probes again if a probe ends neither by an answer nor by its deadline', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { circuit, outcome, open, pass } = setUp()
    await open()
    pass(500)
    void outcome(() => new Promise(() => {}))
    pass(1_999)
    expect(await outcome(well)).toBe('open')
    pass(1)
    expect(await outcome(well)).toBe('well')
    expect(circuit.health.circuit).toBe('closed')
  })

  test('stays open no longer because many calls failed together', async () => {
    const { outcome, pass } = setUp()
    await Promise.all(Array.from({ length: 50 }, () => outcome(lost)))
    pass(500)
    expect(await outcome(well)).toBe('well')
  })

  // Calls that were under way when the circuit opened would otherwise extend it, each by its own failure.
  test('stays open no longer because a call that was under way fails later', async () => {
    const { outcome, open, pass } = setUp()
    let fail: (error: Error) => void = () => {}
    const slow = outcome(() => new Promise((_, reject) => (fail = reject)))
    await open()
    pass(400)
    fail(new Error('connection lost'))
    expect(await slow).toBe('error')
    pass(100)
    expect(await outcome(well)).toBe('well')
  })

  test('stays open where an answer comes after its deadline, and counts each late call once', async () => {
    const { circuit, outcome } = setUp()
    const answers: ((error?: Error) => void)[] = []
    const late = () =>
      new Promise<void>((resolve, reject) => answers.push((error) => (error ? reject(error) : resolve())))
    const timeouts = Array.from({ length: 4 }, () => outcome(late, 'a', 1))
    expect(await Promise.all(timeouts)).toEqual(['timeout', 'timeout', 'timeout', 'timeout'])
    for (const answer of answers) answer(new Error('connection lost'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(circuit.health.circuit).toBe('closed')
    expect(await outcome(late, 'a', 1)).toBe('timeout')
    expect(circuit.health.circuit).toBe('open')
    answers.at(-1)?.()
    await new Promise((resolve) => setImmediate(resolve))
    expect(circuit.health.circuit).toBe('open')
  })

  test('says why it is open, and how long a call was waited for', async () => {
    const { call, circuit, open, outcome } = setUp()
    await expect(call(() => new Promise(() => {}), 'b', 1)).rejects.toThrow('The store did not answer within 1 ms.')
    expect(circuit.health.circuit).toBe('closed')
    await open()
    await expect(call(well, 'a')).rejects.toThrow('The circuit is open: the store has failed 5 times in a row')
    expect(await outcome(well, 'b')).toBe('well')
  })

  test('closes for the shard that was probed, even if its keys have moved to another meanwhile', async () => {
    let shard = 'old'
    const { circuit, open, outcome, pass } = setUp({ slotOf: () => shard })
    await open()
    pass(500)
    let answer: (value: string) => void = () => {}
    const probe = outcome(() => new Promise((resolve) => (answer = resolve)))
    shard = 'new'
    answer('well')
    expect(await probe).toBe('well')
    expect(circuit.health.circuit).toBe('closed')
  })

  test('counts a store that throws where it should reject, and probes it anew each time', async () => {
    const { outcome, pass } = setUp()
    const broken = () => {
      throw new Error('connection lost')
    }
    for (let i = 0; i < 5; i++) expect(await outcome(broken)).toBe('error')
    for (const open of [500, 1_000]) {
      pass(open)
      expect(await outcome(broken)).toBe('error')
    }
    pass(2_000)
    expect(await outcome(well)).toBe('well')
  })

  test('stays open longer after each failed probe, up to fifteen seconds', async () => {
    const { outcome, open, pass } = setUp()
    await open()
    for (const millis of [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]) {
      pass(millis - 1)
      expect(await outcome(lost)).toBe('open')
      pass(1)
      expect(await outcome(lost)).toBe('error')
    }
  })

  // A CROSSSLOT, a TRYAGAIN or an invalid argument opened it for every key.
  test.each([
    ['a mistake of the program', new QuotaError('ERR_SPILLWAY_KEY', 'keys in two slots'), 'undefined'],
    ['a denial of one call by a healthy store', new StoreError('TRYAGAIN', undefined, { healthy: true }), 'error'],
  ])('is not opened by %s', async (_, error, reason) => {
    const { outcome } = setUp()
    for (let i = 0; i < 20; i++) expect(String(await outcome(() => Promise.reject(error)))).toBe(reason)
    expect(await outcome(well)).toBe('well')
  })

  // Reproduces a bug: a row that is locked closed the circuit, so that more calls were sent to a server whose commits hang.
  test('is not closed by a denial of one call either', async () => {
    const { circuit, outcome, open, pass } = setUp()
    await open()
    pass(500)
    const locked = new StoreError('55P03', undefined, { healthy: true })
    for (let i = 0; i < 3; i++) expect(await outcome(() => Promise.reject(locked))).toBe('error')
    expect(circuit.health.circuit).toBe('half-open')
    expect(await outcome(well)).toBe('well')
    expect(circuit.health.circuit).toBe('closed')
  })

  // With one of three masters of a cluster frozen, a quarter of the requests to the other two were not counted.
  test('opens for the shard that fails, and not for the others', async () => {
    const { circuit, outcome, open } = setUp()
    await open('a1')
    expect(await Promise.all([outcome(well, 'a2'), outcome(well, 'b1')])).toEqual(['open', 'well'])
    expect(circuit.health.circuit).toBe('open')
  })

  test('goes by what fails together, where a store names it, rather than by what is taken together', async () => {
    const { outcome, open } = setUp({ slotOf: ({ key }) => key, shardOf: ({ key }) => key.charAt(0) })
    await open('a1')
    expect(await Promise.all([outcome(well, 'a2'), outcome(well, 'b1')])).toEqual(['open', 'well'])
  })

  test('keeps a bounded number of circuits', async () => {
    const { outcome, open } = setUp({ slotOf: ({ key }) => key })
    await open('a')
    for (let i = 0; i < 999; i++) await outcome(lost, `b${i}`)
    expect(await outcome(well, 'a')).toBe('open')
    await outcome(lost, 'one more')
    expect(await outcome(well, 'a')).toBe('well')
  })
})
