import type { Feature, Seams } from '../../http/pipeline/seams.ts'
import { blocks } from '../blocks/index.ts'
import { oncePerQuota, quotasByRequest } from '../quotas-by-request/index.ts'
import { shadow } from '../shadow/index.ts'
import { spill } from '../spill/index.ts'
import { byKey, type KeyedPolicy } from './by-key.ts'
import { keyTextOf } from './key-text.ts'

/** `peek`, `charge`, `refund`, `reset`, `block` and more: the counts of a key, outside of requests. */
export const callsByKey: Feature = {
  name: 'callsByKey',
  needs: [blocks, shadow, spill, quotasByRequest],
  layers: { policy, calls },
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
  return (policiesNow) => byKey(policiesNow as () => readonly KeyedPolicy<R, S>[])
}
