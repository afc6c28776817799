import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Table } from '../src/table.ts'

/** A table whose lookups end: one that searches for an entry for ever throws. */
function boundedTable(): Table {
  const table = new Table(0)
  const slotAt = table.slotAt.bind(table)
  let steps = 0
  table.slotAt = (at) => {
    if (++steps > 1_000_000) throw new Error('the search does not end')
    return slotAt(at)
  }
  return table
}

function slotsOf(table: Table, fingerprint: number): readonly number[] {
  const slots: number[] = []
  for (let at = table.first(fingerprint); at >= 0; at = table.next(at, fingerprint)) slots.push(table.slotAt(at))
  return slots.sort((a, b) => a - b)
}

// Equal fingerprints, and different ones that are next to each other, also around the end of the table.
const fingerprints = [0, 1, 2, -1, -2, 1 << 31, 0x0fff_ffff, 0x1000_0000]
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ add: fc.constantFrom(...fingerprints) }) },
    { weight: 2, arbitrary: fc.record({ remove: fc.nat() }) },
  ),
  { maxLength: 80 },
)

test('entries of equal fingerprints are added and removed in any order, as in a Map', () => {
  fc.assert(
    fc.property(steps, (story) => {
      const table = boundedTable()
      const entries = new Map<number, number>()
      for (const [slot, step] of story.entries()) {
        if ('add' in step) {
          table.add(step.add, slot)
          entries.set(slot, step.add)
        } else if (entries.size > 0) {
          const [removed, fingerprint] = [...entries][step.remove % entries.size] as [number, number]
          table.remove(fingerprint, removed)
          entries.delete(removed)
        }
        for (const fingerprint of fingerprints) {
          const expected = [...entries].filter(([, each]) => each === fingerprint).map(([each]) => each)
          expect(slotsOf(table, fingerprint)).toEqual(expected)
        }
      }
    }),
    { numRuns: 50 },
  )
})
