import { knownAlgorithms } from '../../algorithms/algorithm.ts'
import { PLAIN, PLAIN_OPTIONS } from './plain.ts'
import type { Feature, OptionNames, Seams } from './seams.ts'

/** The pipeline with features installed. */
export interface Pipeline {
  readonly features: readonly Feature[]
  readonly names: OptionNames
  /** Whether a request is refunded if its response is over when its verdict arrives. */
  readonly refunds: boolean
}

type Layer = (next: unknown) => unknown

/** Installs features in the pipeline: each adds its layers around those of the features before it. */
/* @__NO_SIDE_EFFECTS__ */
export function install(features: readonly Feature[]): Pipeline {
  return {
    features,
    refunds: features.some(({ refunds }) => refunds),
    names: {
      limiter: [...PLAIN_OPTIONS.limiter, ...features.flatMap(({ options = [] }) => options)],
      policy: [...PLAIN_OPTIONS.policy, ...features.flatMap(({ policyOptions = [] }) => policyOptions)],
    },
  }
}

/** The seams of a pipeline, also with the features that quotas bring: they are known when a limiter is built. */
export function seamsOf<R, S>({ features }: Pipeline): Seams<R, S> {
  const seams: Record<string, unknown> = { ...PLAIN }
  for (const { layers } of [...features, ...knownAlgorithms().flatMap(({ feature }) => (feature as Feature) ?? [])]) {
    for (const [seam, layer] of Object.entries(layers)) seams[seam] = (layer as Layer)(seams[seam])
  }
  return seams as object as Seams<R, S>
}
