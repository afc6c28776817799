import { brought } from '../../algorithms/algorithm.ts'
import { PLAIN, PLAIN_OPTIONS } from './plain.ts'
import type { Feature, OptionNames, Seams } from './seams.ts'

/** The pipeline with features installed. */
export interface Pipeline {
  readonly seams: Seams<unknown, unknown>
  readonly names: OptionNames
  /** Whether a request is refunded if its response is over when its verdict arrives. */
  readonly refunds: boolean
}

type Layer = (next: unknown) => unknown

/** Installs features in the pipeline: each adds its layers around those of the features before it. */
/* @__NO_SIDE_EFFECTS__ */
export function install(features: readonly Feature[]): Pipeline {
  return {
    seams: layered(PLAIN, features),
    refunds: features.some(({ refunds }) => refunds),
    names: {
      limiter: [...PLAIN_OPTIONS.limiter, ...features.flatMap(({ options = [] }) => options)],
      policy: [...PLAIN_OPTIONS.policy, ...features.flatMap(({ policyOptions = [] }) => policyOptions)],
    },
  }
}

/** The seams of a pipeline, with the features that quotas have brought: they are known when a limiter is built. */
export const seamsOf = <R, S>({ seams }: Pipeline): Seams<R, S> =>
  layered(
    seams,
    brought().map(({ feature }) => feature as Feature),
  ) as object as Seams<R, S>

function layered(seams: object, features: readonly Feature[]): Seams<unknown, unknown> {
  const all: Record<string, unknown> = { ...seams }
  for (const { layers } of features) {
    for (const [seam, layer] of Object.entries(layers)) all[seam] = (layer as Layer)(all[seam])
  }
  return all as object as Seams<unknown, unknown>
}
