import { perSecond } from '@spillway/core'
import { describe, expect, test } from 'vitest'
import { onAMachine, ours, polled } from './ours.ts'
import { GoTokenBucket } from './published/go.ts'

/** The published bucket, asked at milliseconds. */
function published(rate: number, capacity: number) {
  const bucket = new GoTokenBucket(rate, capacity, 0)
  return { bucket, passes: (ms: number): boolean => bucket.getToken(ms * 1e6) }
}

describe('Go1: a denial adds the tokens of a time that it does not forget, and the next one adds them again', () => {
  test('one a second, polled every 10 ms: the next comes after 0.14 s there, after 1 s here', () => {
    const theirs = published(1, 1)
    const right = ours(perSecond(1))
    const firstAgain = (passes: (ms: number) => boolean): number | undefined => {
      passes(0)
      return Array.from({ length: 200 }, (_, i) => (i + 1) * 10).find((ms) => passes(ms))
    }
    expect(firstAgain(theirs.passes)).toBe(140)
    expect(firstAgain(right.passes)).toBe(1_000)
  })

  test.each([
    ['one a second, polled every 10 ms', 1, 1, 10, 72, 11],
    ['ten a second, polled every millisecond', 10, 10, 1, 742, 110],
    ['the program of the text: two a second, capacity 5, polled every 100 ms', 2, 5, 100, 41, 25],
  ])('%s: in ten seconds', (_, rate, capacity, pause, theirs, right) => {
    expect(polled(pause, 10_000, published(rate, capacity).passes)).toBe(theirs)
    expect(polled(pause, 10_000, ours(perSecond(rate, { burst: capacity })).passes)).toBe(right)
  })
})

test('the twenty calls of the program: 5 + 3 pass, the first denial is the seventh', () => {
  const { passes } = ours(perSecond(2, { burst: 5 }))
  const calls = Array.from({ length: 20 }, (_, i) => (passes(i * 100) ? 'pass' : 'limit'))
  expect(calls.map((call) => call[0]).join('')).toBe('ppppppllllpllllpllll')
})

describe('Go2: the clock is read before the lock', () => {
  test('who read it early and comes in late takes tokens away there, from everybody', () => {
    const { bucket, passes } = published(1, 2)
    expect([passes(1_500), passes(400)]).toEqual([true, false])
    expect(bucket.tokens).toBeCloseTo(-0.1)
  })

  test('here the step reads it, and a clock that goes back takes nothing away', () => {
    const { pass, set } = onAMachine(perSecond(1, { burst: 2 }))
    expect(pass(1_500).consumeSync('alice').allowed).toBe(true)
    expect(set(400).consumeSync('alice')).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('a weight and a wait, which it has not', () => {
    const { at } = ours(perSecond(2, { burst: 5 }))
    expect(at(0).consumeSync('alice', 4)).toMatchObject({ allowed: true, remaining: 1 })
    expect(at(0).consumeSync('alice', 3)).toMatchObject({ allowed: false, remaining: 1, retryAfterMs: 1_000 })
  })
})
