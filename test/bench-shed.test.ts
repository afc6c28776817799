import { expect, test } from 'vitest'
import { parts } from '../bench/parts.ts'
import { shedTable } from '../bench/shed.ts'

test('the bench of overload measures each guard, and serves work with ours', async () => {
  expect(Object.keys((await parts['shed']?.())?.cases ?? {})).toEqual(['semaphore', 'cpu'])
  const { columns, rows } = await shedTable(
    'Overload',
    'How.',
    () => async () => {},
    () => {},
    0.2,
    0,
  )
  expect(columns).toEqual(['% of goodput lost', 'p99, ms'])
  expect(rows.map(({ name }) => name)).toContain('spillway')
  expect(rows.find(({ name }) => name === 'spillway')?.figures[1]).not.toBeNull()
})
