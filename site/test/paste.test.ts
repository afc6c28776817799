import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { problemsOf } from '../../test/docs/check.ts'
import { ALGORITHM_IDS, type Numbers } from '../playground/algorithms.ts'
import { codeOf } from '../playground/code.ts'
import { FRAMEWORK_IDS } from '../playground/frameworks.ts'
import { type LaneKind, SCENES, type Scene } from '../playground/lane-kind.ts'
import { laneKinds } from '../playground/lanes.ts'
import { type Choices, choicesOf, DEFAULTS, HEADER_FORMS, linkOf, momentLink, momentOf } from '../playground/link.ts'
import { PATTERNS, type Pattern } from '../playground/traffic.ts'

const scenes = Object.keys(SCENES) as Scene[]

test('all code of the playground compiles and runs', async () => {
  const units = ['s', 'm', 'h', 'd'] as const
  const lanes = scenes.flatMap((scene) =>
    laneKinds({ ...DEFAULTS, scene, shown: ALGORITHM_IDS }).map(({ id }) => [scene, id] as const),
  )
  // Without HTTP, the code asks the store at once, and a slow machine may not answer in time.
  const throws = ([, id]: readonly [Scene, string]): boolean => id === 'throw'
  const all = lanes.flatMap((lane, i) =>
    FRAMEWORK_IDS.filter((framework) => !throws(lane) || framework !== 'none').map((framework, j): string => {
      const [scene, id] = lane
      // Cover short and long names, bursts, costs, shared keys and other headers for each framework.
      const choices: Choices = {
        ...DEFAULTS,
        scene,
        shown: ALGORITHM_IDS,
        limit: 12,
        every: j % 2 === 0 ? 1 : 5,
        unit: units[(i + j) % 4] as Numbers['unit'],
        burst: i % 2 === 0 ? 0 : 30,
        queue: 4,
        pattern: j % 3 === 0 ? 'weighted' : 'steady',
        apart: i % 2 === 0,
        headers: i % 3 === 0 ? 'draft-7' : 'draft-11',
      }
      return codeOf(framework, laneKinds(choices).find((lane) => lane.id === id) as LaneKind, choices)
    }),
  )
  const samples = all.map((code, i) => ({ document: 'playground', line: i + 1, code, prelude: undefined }))
  expect(await problemsOf(samples)).toEqual([])
})

describe('a link', () => {
  const choices = fc.record({
    scene: fc.constantFrom(...scenes),
    limit2: fc.integer({ min: 1, max: 1_000 }),
    every2: fc.integer({ min: 1, max: 60 }),
    unit2: fc.constantFrom('s' as const, 'm' as const),
    takes: fc.integer({ min: 1, max: 600 }).map((tenths) => tenths / 10),
    fixed: fc.integer({ min: 1, max: 1_000 }),
    limit: fc.integer({ min: 1, max: 1_000 }),
    every: fc.integer({ min: 1, max: 60 }),
    unit: fc.constantFrom('s' as const, 'm' as const, 'h' as const, 'd' as const),
    burst: fc.integer({ min: 0, max: 100 }),
    portions: fc.integer({ min: 1, max: 10 }),
    queue: fc.integer({ min: 0, max: 100 }),
    pattern: fc.constantFrom(...(Object.keys(PATTERNS) as Pattern[])),
    load: fc.integer({ min: 2, max: 40 }).map((tenths) => tenths / 10),
    apart: fc.boolean(),
    shown: fc.subarray(ALGORITHM_IDS, { minLength: 1 }),
    picked: fc.constantFrom(...ALGORITHM_IDS),
    headers: fc.constantFrom(...HEADER_FORMS),
    framework: fc.constantFrom(...FRAMEWORK_IDS),
  })

  test('restores the choices', () => {
    fc.assert(
      fc.property(choices, (chosen) => {
        expect(choicesOf(linkOf(chosen))).toEqual(chosen)
      }),
    )
  })

  test('omits the defaults, and any text can be read', () => {
    expect(linkOf(DEFAULTS)).toBe('')
    fc.assert(
      fc.property(fc.webQueryParameters(), (link) => {
        expect(choicesOf(link)).toBeTypeOf('object')
      }),
    )
    expect(choicesOf('limit=-3&unit=y&shown=none&load=NaN&headers=x')).toEqual(DEFAULTS)
  })
})

test('a link contains the clicks and the time; what is invalid in one is ignored', () => {
  const clicks = [{ at: 1_200_000, client: 'you', cost: 3, own: true }] as const
  expect(momentOf(momentLink(clicks, 2_500_000.4))).toEqual({ clicks, moment: 2_500_000 })
  expect(momentOf('clicks=1:0,x,5:2,-1:1&at=-4')).toEqual({
    clicks: [{ at: 5, client: 'you', cost: 2, own: true }],
    moment: undefined,
  })
  expect(momentOf('')).toEqual({ clicks: [], moment: undefined })
})
