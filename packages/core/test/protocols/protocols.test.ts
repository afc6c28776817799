import { describe, expect, test } from 'vitest'
import { hasSpin, search } from './spin.ts'

// All orders of the steps of several processes, and of time. `test/proofs` proves the kernel itself. `npm test` searches
// the protocols for a shorter time, `npm run prove` for all of it, and their mutants and resets, too.
const isWhole = process.env['SPILLWAY_PROOFS'] === 'whole'
const testWhole = test.runIf(isWhole)

describe.skipIf(!hasSpin())('every order of steps, by Spin', () => {
  const seconds = { timeout: 300_000 }

  test('leases allow no more than the bucket does', seconds, () => {
    const { states, violated } = search('leases', isWhole ? [] : ['TICKS=4'])
    expect(violated).toBeUndefined()
    expect(states).toBeGreaterThan(isWhole ? 1_000_000 : 100_000)
  })

  testWhole.each([
    'MUTANT_DATED_BY_THE_REPLY',
    'MUTANT_LEFT_BY_THE_OLD_CLOCK',
    'MUTANT_RETURN_ANYHOW',
    'MUTANT_SPEND_WHILE_ASKING',
  ])('leases with %s allow more', seconds, (mutant) => {
    expect(search('leases', [mutant, 'TICKS=4']).violated).toContain('ledger')
  })

  testWhole('after a reset, each process with a lease allows no more than its lease', seconds, () => {
    expect(search('leases', ['RESETS', 'TICKS=3']).violated).toBeUndefined()
    expect(search('leases', ['RESETS', 'TICKS=3', 'OVER=2']).violated).toContain('ledger')
  })

  test('denied requests consume nothing in several stores, and refund no unit twice', seconds, () => {
    const { states, violated } = search('stores', isWhole ? ['REQUESTS=3'] : ['REQUESTS=3', 'TICKS=2'])
    expect(violated).toBeUndefined()
    expect(states).toBeGreaterThan(isWhole ? 1_000_000 : 100_000)
    if (isWhole) expect(search('stores', ['REQUESTS=4', 'TICKS=1']).violated).toBeUndefined()
  })

  testWhole.each(['MUTANT_WHOLE', 'MUTANT_NOTHING'])('refunds with %s are wrong', seconds, (mutant) => {
    expect(search('stores', [mutant, 'REQUESTS=3']).violated).toContain('ideal')
  })
})
