import { describe, expect, test } from 'vitest'
import { StoreError, type Taken } from '../src/index.ts'
import type { Breaker } from '../src/remote/breaker.ts'
import { lost, setUp, well } from './circuit.ts'

/** Queues refunds that failed before they were sent. */
async function queue(circuit: Breaker, ...refunds: Parameters<Breaker['refundFailed']>[0][]): Promise<void> {
  for (const each of refunds) circuit.refundFailed(each, new StoreError('unsent', undefined, { reason: 'open' }))
  await new Promise((resolve) => setImmediate(resolve))
}

describe('refunds', () => {
  test('go to a store whose circuit is closed at once', async () => {
    const { circuit, refund, taken } = setUp()
    await queue(circuit, refund())
    expect(taken).toEqual([refund()])
  })

  test('wait while the circuit is open, and are sent once when the store answers again', async () => {
    const { circuit, open, outcome, pass, refund, taken } = setUp()
    await open()
    await queue(circuit, refund('a1'), refund('b1'))
    expect(taken).toEqual([refund('b1')])
    expect(circuit.health).toEqual({ circuit: 'open', refundsQueued: 1, refundsDropped: 0 })
    pass(500)
    await outcome(well)
    await outcome(well)
    expect(taken).toEqual([refund('b1'), refund('a1')])
    expect(circuit.health).toEqual({ circuit: 'closed', refundsQueued: 0, refundsDropped: 0 })
  })

  // The refund of a late take went through the circuit that the lateness had opened, and was lost.
  test('pass an open circuit where the store has just answered', async () => {
    const { circuit, open, refund, taken } = setUp()
    await open()
    circuit.sendRefund(refund())
    expect(taken).toEqual([refund()])
  })

  test('are kept up to a bound, and those dropped are counted and reported', async () => {
    const { circuit, log, open, outcome, pass, refund } = setUp()
    await open()
    await queue(circuit, ...Array.from({ length: 1_003 }, () => refund()))
    expect(circuit.health).toMatchObject({ refundsQueued: 1_000, refundsDropped: 3 })
    pass(500)
    await outcome(well)
    expect(log.at(-1)).toContain('3 refunds dropped')
  })

  test('that wait for a shard are dropped and counted when too many other shards fail', async () => {
    const { circuit, open, outcome, refund } = setUp({ slotOf: ({ key }) => key })
    await open('a')
    await queue(circuit, refund('a'), refund('a'))
    for (let i = 0; i < 1_000; i++) await outcome(lost, `b${i}`)
    expect(circuit.health).toEqual({ circuit: 'closed', refundsQueued: 0, refundsDropped: 2 })
  })

  test('that fail are not sent again, because they may have been made, and are counted', async () => {
    const { circuit, refund } = setUp({ take: lost })
    await queue(circuit, refund())
    expect(circuit.health).toMatchObject({ refundsQueued: 0, refundsDropped: 1 })
  })

  // The refund of a late answer that found no free connection was dropped, though nothing had been sent.
  test('that fail before they are sent are sent when the store answers again', async () => {
    const unsent = Promise.reject(new StoreError('starved', undefined, { reason: 'pool' }))
    let answer: Promise<readonly Taken[]> = unsent
    const { circuit, outcome, refund } = setUp({ take: () => answer })
    circuit.sendRefund(refund())
    await new Promise((resolve) => setImmediate(resolve))
    expect(circuit.health).toEqual({ circuit: 'closed', refundsQueued: 1, refundsDropped: 0 })
    answer = Promise.resolve([])
    await outcome(well)
    expect(circuit.health).toEqual({ circuit: 'closed', refundsQueued: 0, refundsDropped: 0 })
  })
})
