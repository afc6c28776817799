import { ALGORITHM_IDS, ALGORITHMS, functionIn } from './algorithms.ts'
import type { LaneKind, Scene } from './lane-kind.ts'
import type { Choices } from './link.ts'
import { run } from './run.ts'
import { failing } from './scenes/failing.ts'
import { policies } from './scenes/policies.ts'
import { processes } from './scenes/processes.ts'

const algorithms = (choices: Choices): readonly LaneKind[] =>
  ALGORITHM_IDS.filter((id) => choices.shown.includes(id)).map((id) => {
    const { name, left, memory, quota, code } = ALGORITHMS[id]
    const text = code(choices)
    return {
      id,
      name,
      left,
      memory,
      code: text,
      options: [`quota: ${text}`],
      imports: [functionIn(text)],
      run: (traffic) => run(quota(choices), traffic, choices),
    }
  })

const MAKERS: Readonly<Record<Scene, (choices: Choices) => readonly LaneKind[]>> = {
  algorithms,
  policies,
  processes,
  failing,
}

/** The lanes of what a visitor has chosen. */
export const laneKinds = (choices: Choices): readonly LaneKind[] => MAKERS[choices.scene](choices)
