import { andThen } from '../../common/maybe-promise.ts'
import type { CompiledPolicy, HttpCheck } from '../../http/pipeline/compiled.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { spilling } from '../../policies/spill.ts'
import { checkSpills, type Targets } from '../../policies/spill-targets.ts'
import { blockListOf, blocks } from '../blocks/index.ts'

/** The option for units of another policy. `Name` is the name of a policy. */
export interface SpillOptions<Name extends string = string> {
  /**
   * The name of a policy for requests that this one denies: their units are consumed from that policy instead.
   * @default none
   */
  readonly spill?: NoInfer<Name>
}

/** The types of its options. */
export interface SpillTypes extends OptionTypes {
  readonly policy: SpillOptions
}

/** `spill`: what one policy denies is consumed from another. */
export const spill: Feature<SpillTypes> = {
  name: 'spill',
  policyOptions: ['spill'],
  needs: [blocks],
  layers: { several, policy, checks },
}

function several<R, S>(next: Seams<R, S>['several']): Seams<R, S>['several'] {
  return (given, compile) => {
    const policies = next(given, compile)
    checkSpills(given)
    return policies
  }
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const compiled = next(options, building)
    const { spill } = options as SpillOptions
    return spill === undefined ? compiled : { ...compiled, spill }
  }
}

/** For each policy, the index of the one that it spills over to; -1 without one. */
export function targetsOf<R, S>(policies: readonly CompiledPolicy<R, S>[]): Targets {
  const places = new Map(policies.map(({ name }, i) => [name, i]))
  return policies.map(({ spill }) => (spill === undefined ? -1 : (places.get(spill) ?? -1)))
}

function checks<R, S>(next: Seams<R, S>['checks']): Seams<R, S>['checks'] {
  return (policies) => {
    const read = next(policies)
    const targets = targetsOf(policies)
    if (targets.every((target) => target < 0)) return read
    return (parts) =>
      andThen(read(parts), (checks) => {
        const ofLists = checks.filter(isOfBlockList)
        const own = new Map(
          checks.filter((check) => !ofLists.includes(check)).map((each) => [each.compiled.name, each]),
        )
        const inOrder = policies.map(({ name }) => own.get(name))
        return [...spilling(inOrder, targets), ...ofLists]
      })
  }
}

const isOfBlockList = <R, S>({ policy, compiled }: HttpCheck<R, S>): boolean => policy === blockListOf(compiled)
