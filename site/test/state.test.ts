import { describe, expect, test } from 'vitest'
import { nextTick } from 'vue'
import { playground } from '../playground/state.ts'

describe('the time that is shown stays within the run', () => {
  // The line of the current time was drawn at 536 % of the width of the drawing, which made the page wider.
  test('if a higher limit makes the run shorter, and is what it was if the run is as long again', () => {
    const { choices, at, traffic } = playground()
    const [before, { span }] = [at.value, traffic.value]
    expect(before).toBeGreaterThan(0)
    for (const limit of [1_000, 5_000, 100_000]) {
      choices.limit = limit
      expect(at.value).toBeLessThanOrEqual(traffic.value.span)
    }
    expect(traffic.value.span).toBeLessThan(before)
    choices.limit = 10
    expect([at.value, traffic.value.span]).toEqual([before, span])
  })

  // A page was 33,554,432 pixels wide.
  test('if a link has a later time', async () => {
    const { open, at, traffic } = playground()
    await open('at=999999999999999')
    expect(at.value).toBe(traffic.value.span)
    await open('limit=100000&at=20000000')
    expect(at.value).toBe(traffic.value.span)
    await open('at=20000000')
    expect(at.value).toBe(20_000_000)
  })

  test('if the window becomes shorter, and a store that fails has not yet answered the new requests', async () => {
    const { choices, open, send, at, traffic } = playground()
    await open('scene=failing&load=3&every=60')
    await send(1)
    choices.every = 1
    await nextTick()
    expect(at.value).toBeLessThanOrEqual(traffic.value.span)
  })

  test('if it is set to a later one, as by a request that is sent then', async () => {
    const { send, own, at, traffic } = playground()
    at.value = 1e9
    await send(1)
    expect(own.value.map(({ at }) => at)).toEqual([traffic.value.span])
  })
})
