import { loggerOf, processState, warnOnce } from '@spillway/core/internal'

/** Policies that evict no state of a limited key before the states of new keys with the same quota. */
const SAFE: readonly string[] = ['noeviction', 'volatile-ttl']

const checked = (): WeakSet<object> => processState('redis evictions', () => new WeakSet())

/**
 * Warns once per client if the server evicts the states of limited keys under a flood of new ones. It never throws and
 * delays no request: a server that forbids INFO is not an error.
 */
export function warnOfEviction(client: object, memoryInfo: () => Promise<unknown>): void {
  if (checked().has(client)) return
  checked().add(client)
  void askAndWarn(client, memoryInfo)
}

async function askAndWarn(client: object, memoryInfo: () => Promise<unknown>): Promise<void> {
  try {
    const lines = String(await memoryInfo()).split(/\r?\n/)
    const memory = new Map(lines.map((line) => line.split(':') as [field: string, value: string]))
    const policy = memory.get('maxmemory_policy') ?? ''
    if (Number(memory.get('maxmemory')) === 0 || policy === '' || SAFE.includes(policy)) return
    warnOnce(
      loggerOf(client),
      'WARN_SPILLWAY_EVICTION',
      'when its memory is full, Redis evicts the states of limited keys under a flood of new keys, and those start again with a full quota. Set maxmemory-policy to noeviction, on a server of its own; `npx @spillway/cli check --redis URL` says more. maxmemory-policy: ',
      policy,
    )
  } catch {}
}
