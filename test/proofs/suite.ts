import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Vector } from '../../packages/conformance/src/vectors/vector.ts'
import { mutated } from './kernels.ts'
import type { Arithmetic } from './path.ts'
import { type Program, replayed } from './replay.ts'
import { type Property, type Solver, startSolver } from './solver.ts'
import { nameOf, vectorText } from './vectors.ts'

/** The solver cannot be interrupted: the next test would ask it while it works. */
const TIMEOUT_MS = 600_000

export type Properties = Readonly<Record<string, Property>>

/** A property that a program with one change does not have. */
export interface Mutant {
  readonly text: string
  readonly replacement: string
  readonly property: string
}

/** Golden vectors of the suite, and what answers them as a source says. */
export interface Golden {
  readonly vectors: readonly Vector[]
  readonly programOf: (source: string) => Program
  /** Whether the vectors are the counterexamples of the mutants, which `npm run prove` prints. */
  readonly printed?: boolean
  /** The solver of arithmetic that is faster for the program; default: that of {@link startSolver}. */
  readonly arithmetic?: Arithmetic
}

/** `npm run prove` proves all properties and looks at all mutants, `npm test` at so many of each program. */
const FEW = 1
const isWhole = process.env['SPILLWAY_PROOFS'] === 'whole'

/**
 * Tests that a program has properties for all inputs, and that each of its mutants does not have one of them. The `slow`
 * properties, which take a processor longer than a second, are left to `npm run prove`.
 */
export function proves(
  what: string,
  source: string,
  propertiesOf: (source: string) => Properties,
  slow: readonly string[],
  mutants: Readonly<Record<string, Mutant>>,
  { vectors, programOf, printed = false, arithmetic }: Golden,
): void {
  const properties = propertiesOf(source)
  for (const name of slow) if (!(name in properties)) throw new Error(`no property ${name}`)

  let solver: Solver
  beforeAll(async () => {
    solver = await startSolver(arithmetic)
  })
  afterAll(() => solver.stop())

  describe(`for ${what},`, () => {
    test.each(Object.entries(properties).filter(([name]) => isWhole || !slow.includes(name)))(
      '%s',
      async (_, property) => {
        expect(await solver.counterexample(property)).toBeUndefined()
      },
      TIMEOUT_MS,
    )
  })

  describe('a counterexample is found for a kernel that', () => {
    test.each(Object.entries(mutants).slice(0, isWhole ? undefined : FEW))(
      '%s',
      async (name, { text, replacement, property }) => {
        const mutant = mutated(source, text, replacement)
        const broken = propertiesOf(mutant)[property]
        if (broken === undefined) throw new Error(`no property ${property}`)
        expect(await solver.counterexample(broken)).toBeDefined()
        if (!printed || !isWhole) return
        const vector = await vectorText(name, source, mutant, (wanted) => solver.counterexample(broken, wanted))
        process.stdout.write(`${vector}\n`)
      },
      TIMEOUT_MS,
    )
  })

  test('the golden vectors are what is answered', () => {
    const program = programOf(source)
    for (const vector of vectors) expect(replayed(program, vector)).toEqual(vector.rows)
  })

  describe('a golden vector is not what is answered by a kernel that', () => {
    test.each(Object.entries(mutants))('%s', (name, { text, replacement }) => {
      const own = printed ? vectors.filter((each) => each.name === nameOf(name)) : vectors
      if (own.length === 0) throw new Error('run npm run prove, and add the vector that it prints')
      const program = programOf(mutated(source, text, replacement))
      expect(own.some((vector) => !isDeepStrictEqual(replayed(program, vector), vector.rows))).toBe(true)
    })
  })
}
