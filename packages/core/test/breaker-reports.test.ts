import { describe, expect, test } from 'vitest'
import { StoreError } from '../src/index.ts'
import { setSilenceRemedy } from '../src/internal.ts'
import { lost, setUp, well } from './circuit.ts'

// A store that failed four of five calls left 80 of 100 requests uncounted, and no line was printed.
describe('a failing store is reported', () => {
  test('at its first failure, then once a minute with counts, and when it answers again', async () => {
    const { log, open, outcome, pass } = setUp()
    await outcome(lost)
    expect(log).toEqual([expect.stringContaining('the store failed (limiter "p"): The store failed: connection lost.')])
    await open()
    await outcome(lost)
    expect(log).toHaveLength(1)
    pass(60_000)
    await outcome(lost)
    expect(log.slice(1)).toEqual([
      expect.stringContaining('the store failed (limiter "p", 5 failed, 2 not sent in 60 s)'),
    ])
    pass(1_000)
    await outcome(well)
    expect(log.slice(2)).toEqual([expect.stringContaining('the store answers again')])
  })

  test('also when it never fails five times in a row', async () => {
    const { log, outcome, pass } = setUp()
    for (let i = 0; i < 100; i++) {
      await outcome(i % 5 === 0 ? well : lost)
      pass(1_000)
    }
    expect(log).toEqual([
      expect.stringContaining('the store failed (limiter "p"): '),
      expect.stringContaining(', 48 failed in 60 s)'),
    ])
  })

  // A connection that a firewall had forgotten was kept for ever, and only the deadline was reported.
  test('with the remedy of its store from the third failed probe on, if no cause is known: once, and again later', async () => {
    const owner = {}
    setSilenceRemedy(owner, 'Set a timeout.')
    const { log, outcome, pass } = setUp({ scope: { owner, name: '' } })
    const silent = () => Promise.reject(new StoreError('no answer', undefined, { reason: 'timeout' }))
    const probe = async (work: () => unknown, times: number) => {
      for (let i = 0; i < times; i++) {
        pass(15_000)
        await outcome(work)
      }
    }
    for (let i = 0; i < 5; i++) await outcome(silent)
    await probe(silent, 2)
    expect(log.filter((message) => message.includes('Set a timeout.'))).toEqual([])
    await probe(silent, 2)
    expect(log.slice(1)).toEqual([
      expect.stringContaining('It has not answered 3 probes, and its connection reports no error'),
    ])
    await probe(silent, 3)
    expect(log.slice(2)).toEqual([expect.stringContaining('not answered 7 probes')])
    await probe(well, 1)
    for (let i = 0; i < 5; i++) await outcome(silent)
    await probe(lost, 3)
    expect(log.slice(3).filter((message) => message.includes('Set a timeout.'))).toEqual([])
  })
})
