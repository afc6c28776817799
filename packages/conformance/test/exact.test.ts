import fc from 'fast-check'
import { describe, test } from 'vitest'
import { actsAtAnyRate, anyRate, playExactly } from '../src/any-rate.ts'
import { modelStore, START } from '../src/index.ts'
import { runsOf } from '../src/runs.ts'

describe('the model', () => {
  test('answers at any rate as a count in whole numbers of any size does', async () => {
    await fc.assert(
      fc.asyncProperty(anyRate, actsAtAnyRate, (options, acts) =>
        playExactly(
          modelStore(() => START),
          options,
          acts,
        ),
      ),
      { numRuns: runsOf(3_000) },
    )
  })
})
