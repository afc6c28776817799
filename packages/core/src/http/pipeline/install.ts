import { QuotaError } from '../../common/errors.ts'
import { PLAIN, PLAIN_OPTIONS } from './plain.ts'
import type { Feature, OptionNames, Seams } from './seams.ts'

/** The pipeline with features installed. */
export interface Pipeline {
  readonly seams: Seams<unknown, unknown>
  readonly names: OptionNames
}

type Layer = (next: unknown) => unknown

/** Installs features in the pipeline: each adds its layers around those of the features before it. */
/* @__NO_SIDE_EFFECTS__ */
export function install(features: readonly Feature[]): Pipeline {
  const seams: Record<string, unknown> = { ...PLAIN }
  for (const [i, { name, needs = [], layers }] of features.entries()) {
    const before = features.slice(0, i).map((each) => each.name)
    if (before.includes(name)) {
      throw new QuotaError('ERR_SPILLWAY_OPTION', `the feature ${name} is named twice. Name it once.`)
    }
    const missing = needs.find((each) => !before.includes(each.name))
    if (missing !== undefined) {
      throw new QuotaError(
        'ERR_SPILLWAY_OPTION',
        `the feature ${name} is built on ${missing.name}. Name it, too: createRateLimit(${missing.name}, ${name}).`,
      )
    }
    for (const [seam, layer] of Object.entries(layers)) seams[seam] = (layer as Layer)(seams[seam])
  }
  return {
    seams: seams as object as Seams<unknown, unknown>,
    names: {
      limiter: [...PLAIN_OPTIONS.limiter, ...features.flatMap(({ options = [] }) => options)],
      policy: [...PLAIN_OPTIONS.policy, ...features.flatMap(({ policyOptions = [] }) => policyOptions)],
    },
  }
}
