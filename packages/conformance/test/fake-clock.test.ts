import { expect, test } from 'vitest'
import { fakeClock, START } from '../src/index.ts'

test('the fake clock moves only on advance', () => {
  const clock = fakeClock()
  expect([clock(), clock()]).toEqual([START, START])
  clock.advance(0.5)
  expect(clock()).toBe(START + 500)
  clock.advance(-1)
  expect(clock()).toBe(START - 500)
})
