import { blockListName } from '../../algorithms/penalty/block-list.ts'
import { BLOCK_LIST } from '../../algorithms/penalty/block-list-quota.ts'
import { andThen } from '../../common/maybe-promise.ts'
import { checkBoolean } from '../../common/options.ts'
import type { CompiledPolicy, HttpCheck, HttpPolicy } from '../../http/pipeline/compiled.ts'
import { listedHeaders } from '../../http/pipeline/listed-headers.ts'
import { problemTypes } from '../../http/pipeline/problem-types.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { several } from '../several/index.ts'

/** The option for keys that are blocked by hand. */
export interface BlockOptions {
  /**
   * Whether keys can be blocked by hand: `block(key, '1h')`. Each request then looks at a second state of its key, in the
   * same step. A `penalty` can block without it.
   * @default `false`
   */
  readonly blocks?: boolean
}

/** A policy with a block list. */
export interface BlockingPolicy<R, S> extends CompiledPolicy<R, S> {
  readonly blockList?: HttpPolicy
}

/** The policy of the block list; undefined without one. */
export const blockListOf = <R, S>(compiled: CompiledPolicy<R, S>): HttpPolicy | undefined =>
  (compiled as BlockingPolicy<R, S>).blockList

/** The types of its options. */
export interface BlockTypes extends OptionTypes {
  readonly policy: BlockOptions
}

/** `blocks`: keys that are blocked by hand. */
export const blocks: Feature<BlockTypes> = {
  name: 'blocks',
  policyOptions: ['blocks'],
  needs: [several],
  layers: { policy, denial: problemTypes, checks, headers },
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const compiled = next(options, building)
    if (!checkBoolean('blocks', (options as BlockOptions).blocks)) return compiled
    const name = blockListName(compiled.name)
    const [own] = compiled.registrations
    const blocking: BlockingPolicy<R, S> = {
      ...compiled,
      blockList: compiled.build(BLOCK_LIST, name),
      registrations: [...compiled.registrations, { ...own, name, isUnnamed: false, quota: BLOCK_LIST }],
    }
    return blocking
  }
}

function checks<R, S>(next: Seams<R, S>['checks']): Seams<R, S>['checks'] {
  return (policies) => {
    const read = next(policies)
    if (policies.every((each) => blockListOf(each) === undefined)) return read
    return (parts) => andThen(read(parts), withBlockLists)
  }
}

/** The headers of a blocked key list both of its policies. */
function headers<R, S>(next: Seams<R, S>['headers']): Seams<R, S>['headers'] {
  return (policies, options) => (policies.some(blockListOf) ? listedHeaders : next(policies, options))
}

/** Checks, and those of the block lists of their policies. */
export const withBlockLists = <R, S>(checks: readonly HttpCheck<R, S>[]): readonly HttpCheck<R, S>[] => [
  ...checks,
  ...checks.flatMap((check) => {
    const policy = blockListOf(check.compiled)
    return policy === undefined ? [] : [{ ...check, policy }]
  }),
]
