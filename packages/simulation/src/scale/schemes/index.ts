import type { Scheme } from '../world.ts'
import { coalesced } from './coalesced.ts'
import { denyCache } from './deny-cache.ts'
import { exact } from './exact.ts'
import { gossip } from './gossip.ts'
import { leases } from './leases.ts'
import { evenSplit, localFallback, localReplicas } from './local.ts'
import { replay } from './replay.ts'
import { reports } from './reports.ts'
import { sharedWith } from './shared.ts'

/** All schemes, by name. Those after the shared quota are what others have published. */
export const SCHEMES: Readonly<Record<string, Scheme>> = {
  'exact remote': exact,
  coalesced,
  'deny cache': denyCache,
  leases,
  'shared quota, 1 %': sharedWith(0.01),
  'shared quota, 10 %': sharedWith(0.1),
  'local fallback': localFallback,
  'local fallback, replicas': localReplicas,
  'even split': evenSplit,
  'asynchronous replay': replay,
  'periodic reports': reports,
  gossip,
}
