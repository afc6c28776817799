import type { Profiler } from 'node:inspector'

/** The owner of the code that used CPU time. */
export const OWNERS = ['the limiter', 'the framework', 'Node', 'writing', 'the rest'] as const
export type Owner = (typeof OWNERS)[number]

/** The CPU time of each owner in a profile, in microseconds. */
export function microsByOwner({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Record<Owner, number> {
  const owners = new Map(nodes.map(({ id, callFrame }) => [id, ownerOf(callFrame)]))
  const micros = Object.fromEntries(OWNERS.map((owner) => [owner, 0])) as Record<Owner, number>
  for (const [i, id] of samples.entries()) {
    const owner = owners.get(id)
    if (owner) micros[owner] += timeDeltas[i] ?? 0
  }
  return micros
}

const LIMITER = /\/packages\/|\/bench\/(apps|floors)\.ts|\/node_modules\/[\w@./+-]*(rate-?limit)/

/** `the rest` is garbage collection and other work of the engine. Idle time has no owner. */
function ownerOf({ functionName, url }: { functionName: string; url: string }): Owner | undefined {
  if (functionName === '(idle)') return undefined
  if (LIMITER.test(url)) return 'the limiter'
  if (url.startsWith('node:')) return 'Node'
  if (url !== '') return 'the framework'
  return /^write/.test(functionName) ? 'writing' : 'the rest'
}
