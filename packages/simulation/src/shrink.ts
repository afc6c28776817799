import type { Scenario } from './scenario.ts'
import { type Report, simulate } from './simulate.ts'

/** The most runs of a shrink: a run takes about 10 ms. */
const MOST_RUNS = 400

/** The property that a run breaks first; undefined if it breaks none. */
export const brokenBy = ({ problems }: Report): string | undefined => problems[0]?.split(':')[0]

/** A scenario with as few acts and faults as break the same property: leaves out ever smaller parts of both lists. */
export async function shrink(scenario: Scenario): Promise<Scenario> {
  const property = brokenBy(await simulate(scenario))
  let [least, runs] = [scenario, 0]
  const stillBreaks = async (smaller: Scenario): Promise<boolean> => {
    runs++
    return brokenBy(await simulate(smaller)) === property
  }
  const without = async (list: 'acts' | 'faults', from: number, count: number): Promise<boolean> => {
    const smaller = { ...least, [list]: least[list].filter((_, i) => i < from || i >= from + count) }
    const breaks = await stillBreaks(smaller)
    if (breaks) least = smaller
    return breaks
  }
  for (const list of ['faults', 'acts'] as const) {
    for (let count = Math.ceil(least[list].length / 2); count >= 1 && runs < MOST_RUNS; count = Math.floor(count / 2)) {
      for (let from = 0; from < least[list].length && runs < MOST_RUNS; ) {
        if (!(await without(list, from, count))) from += count
      }
    }
  }
  return least
}
