import { andThen } from '../../common/maybe-promise.ts'
import { checkFunctions } from '../../common/options.ts'
import type { Complete } from '../../http/pipeline/compiled.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { type PartitionOptions, type PartitionReader, partitionReader } from './partition.ts'

/** The types of its options. */
export interface PartitionTypes extends OptionTypes {
  readonly policy: PartitionOptions
}

/** `partition`: what identifies a client in headers. */
export const partitions: Feature<PartitionTypes> = {
  name: 'partitions',
  policyOptions: ['partition'],
  layers: { policy },
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    checkFunctions(options as PartitionOptions, ['partition'])
    const compiled = next(options, building)
    const { partition, mode } = options as PartitionOptions & { readonly mode?: string }
    // Headers do not report shadow policies.
    if (partition === undefined || mode === 'shadow') return compiled
    const partitionOf = partitionReader(partition, building.setup.logger)
    return { ...compiled, completes: [...compiled.completes, readingPartition(partitionOf)] }
  }
}

const readingPartition =
  <R, S>(partitionOf: PartitionReader): Complete<R, S> =>
  (check) =>
    andThen(partitionOf(check.key), (known) => {
      check.pk = known
    })
