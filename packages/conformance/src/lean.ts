import type { ByKey } from '@spillway/core/http'
import type { Feature } from '@spillway/core/http/lean'
import type { NeutralOptions } from './mount.ts'

/** The lean entry of an adapter: `createRateLimit`, and its features. */
export interface LeanEntry<L> {
  readonly createRateLimit: (...features: Feature[]) => (options: never) => L
}

/** A policy as a story writes it. */
type Policy = Readonly<Record<string, unknown>>

/** Features that no name of an option shows: the value of one does. */
const BY_VALUE: Readonly<Record<string, (policy: Policy) => boolean>> = {
  selectors: ({ key = 'ip' }) => key !== 'ip' && typeof key !== 'function',
  quotasByRequest: ({ quota }) => typeof quota === 'function',
  waiting: ({ quota }) => {
    const { limit = 0, immediateUnits = limit } = Object(quota) as { limit?: number; immediateUnits?: number }
    return immediateUnits < limit
  },
}

/**
 * Returns `rateLimit` of a lean entry that installs exactly the features that options name, those named `besides`, and what these are
 * built on. They are named in the order of the alphabet: an app may name them in any.
 */
export function leanRateLimit<L>(
  entry: LeanEntry<L>,
): (options: NeutralOptions, besides: readonly string[]) => L & ByKey {
  const known = Object.values(entry).filter(isFeature)
  return (options, besides) => {
    const policies = [options, ...(options.policies ?? [])] as unknown as readonly Policy[]
    const named = known.filter(
      (feature) => besides.includes(feature.name) || policies.some((policy) => isNamedBy(policy, feature)),
    )
    const names = new Set(named.flatMap(withNeeds))
    const features = known.filter(({ name }) => names.has(name)).sort((a, b) => (a.name < b.name ? -1 : 1))
    return entry.createRateLimit(...features)(options as never) as L & ByKey
  }
}

function isFeature(value: unknown): value is Feature {
  return typeof value === 'object' && value !== null && 'layers' in value
}

function isNamedBy(policy: Policy, { name, options = [], policyOptions = [] }: Feature): boolean {
  return [...options, ...policyOptions].some((option) => option in policy) || BY_VALUE[name]?.(policy) === true
}

const withNeeds = ({ name, needs = [] }: Feature): readonly string[] => [name, ...needs.flatMap(withNeeds)]
