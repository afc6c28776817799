import { withCalls } from '../../http/pipeline/calls.ts'
import { problemTypes } from '../../http/pipeline/problem-types.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { oncePerQuota } from '../quotas-by-request/index.ts'
import { callsByKey } from './by-key.ts'
import type { ByKey, KeyedPolicy } from './calls.ts'
import { keyTextOf } from './key-text.ts'

/** The types of its calls. */
export interface ByKeyTypes extends OptionTypes {
  readonly calls: ByKey
}

/** `peek`, `charge`, `refund`, `reset`, `block` and more: the counts of a key, outside of requests. */
export const byKey: Feature<ByKeyTypes> = {
  name: 'byKey',
  layers: { store: withCalls, policy, denial: problemTypes, calls },
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const compiled = next(options, building)
    const { name = 'default', key = 'ip' } = options as { readonly name?: string; readonly key?: unknown }
    const keyed: KeyedPolicy<R, S> = {
      ...compiled,
      withQuota: oncePerQuota(name, compiled.build),
      keyText: keyTextOf(key, building.setup.ipv6Prefix),
    }
    return keyed
  }
}

function calls<R, S>(): Seams<R, S>['calls'] {
  return (policiesNow) => callsByKey(policiesNow as () => readonly KeyedPolicy<R, S>[])
}
