import { expect, test } from 'vitest'
import { evictOldest } from '../src/common/eviction.ts'

const mapOf = (size: number): Map<number, string> => new Map(Array.from({ length: size }, (_, i) => [i, 'denied']))

test.each([
  ['leaves a map that is full', 16, 16, 16],
  ['leaves seven eighths of the newest entries', 17, 16, 14],
  ['deletes the oldest entry of a small map', 3, 2, 2],
  ['deletes all that were added too many at once', 40, 16, 14],
])('%s', (_, size, most, left) => {
  const map = mapOf(size)
  evictOldest(map, most)
  expect([...map.keys()]).toEqual([...mapOf(size).keys()].slice(size - left))
})
