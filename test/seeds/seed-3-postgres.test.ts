import { tokenBucket } from '@spillway/core'
import { describe, expect, test } from 'vitest'
import { ours, polled } from './ours.ts'
import { TokenRow } from './published/postgres.ts'

// The arithmetic of the published function. What it does under concurrency (P5, P6) takes a database to show.

const second = 1_000

/** A bucket of `cap` that refills at `rate` a second. */
const bucket = (rate: number, cap: number) => ours(tokenBucket({ limit: rate, per: '1s', burst: cap }))

describe('the token buckets function', () => {
  test('the session in the text: nine left after the first call, none after ten, three after four seconds more', () => {
    const theirs = new TokenRow(1, 10)
    const calls = Array.from({ length: 13 }, (_, i) => theirs.request(i * 0.0001))
    expect(calls).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1])
    const { at, passes } = bucket(1, 10)
    expect(Array.from({ length: 13 }, (_, i) => passes(i * 0.1))).toEqual([
      ...Array(10).fill(true),
      false,
      false,
      false,
    ])
    expect(at(4 * second).consumeSync('alice').remaining).toBe(3)
  })

  test.each([0.45, 1, 1.4])(
    'P1: drained and then asked every %d s, it never answers again; here a token a second passes',
    (pause) => {
      const theirs = new TokenRow(1, 2)
      for (let i = 0; i < 3; i++) theirs.request(0)
      expect(polled(pause, 60, (at) => theirs.request(at) >= 0, pause)).toBe(0)
      const { passes } = bucket(1, 2)
      for (let i = 0; i < 3; i++) passes(0)
      const admitted = polled(pause * second, 60 * second, (at) => passes(at), pause * second)
      expect(admitted).toBeGreaterThanOrEqual(Math.min(Math.floor(60 / pause), 60) - 1)
    },
  )

  test('P1: it takes a pause of a token and a half to recover', () => {
    const theirs = new TokenRow(1, 2)
    for (let i = 0; i < 3; i++) theirs.request(0)
    expect(theirs.request(1.6)).toBe(0)
  })

  test('P2: asked every 0.55 s it lets all 21 calls through, at twice its rate; here the burst and the rate', () => {
    const theirs = new TokenRow(1, 5)
    expect(polled(0.55, 11, (at) => theirs.request(at) >= 0)).toBe(21)
    const { passes } = bucket(1, 5)
    expect(polled(0.55 * second, 11 * second, (at) => passes(at))).toBe(16)
  })

  test('P3: a transaction that began three seconds ago is credited them at each of 40 calls; here ten pass', () => {
    const theirs = new TokenRow(1, 10)
    theirs.request(3)
    expect(Array.from({ length: 40 }, () => theirs.request(3, 0)).filter((left) => left >= 0)).toHaveLength(40)
    const { passes } = bucket(1, 10)
    expect(Array.from({ length: 41 }, () => passes(3 * second)).filter(Boolean)).toHaveLength(10)
  })

  test('P4: the first call after a rest is free: three of three are left after it; here two', () => {
    const theirs = new TokenRow(1, 3)
    expect([theirs.request(0), theirs.request(6)]).toEqual([2, 3])
    const { at } = bucket(1, 3)
    expect([0, 6 * second].map((ms) => at(ms).consumeSync('alice').remaining)).toEqual([2, 2])
  })

  test('P7: a million a second over an hour is out of range; here it is a bucket like any other', () => {
    expect(() => new TokenRow(1_000_000, 3_600)).toThrow('integer out of range')
    expect(bucket(1_000_000, 3_600_000_000).at(0).consumeSync('alice', 1_000_000).remaining).toBe(3_599_000_000)
  })

  test('P8: each denial writes a row and reports no wait; here it writes nothing and reports the wait, at any cost', () => {
    const theirs = new TokenRow(1, 1)
    for (let i = 0; i < 5; i++) theirs.request(0)
    expect(theirs.writes).toBe(5)
    const { at } = bucket(1, 1)
    at(0).consumeSync('alice')
    const denied = at(0).consumeSync('alice')
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: second })
    expect(at(0).consumeSync('alice')).toEqual(denied)
  })
})
