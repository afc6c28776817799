import { oncePer } from '../common/once-per.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'

/** Callers in this process that wait for the same states. */
export interface Waiters {
  /** Whether they have turns, which a change of the states makes void; if not, they wait in line. */
  readonly haveTurns: boolean
  /** Holds them, in front of all others. Turns are refunded: those who had them acquire again. */
  hold(): Held
  /** Holds those who have turns if their key has been blocked by hand. */
  holdIfBlocked?(): Promise<void>
}

/** Callers that are held. */
export interface Held {
  readonly refunds?: Promise<unknown>
  /** Lets them go on. */
  readonly resume: () => void
}

type WaitedFor = Pick<PolicyCheck, 'policy' | 'key'>

/** The callers that wait for states of a store, by the name of the state. */
const waitersIn = oncePer('waiters', (_store: Store) => new Map<string, Set<Waiters>>())

const stateName = (policy: string, key: string): string => JSON.stringify([policy, key])

/** Registers those who wait for the states of checks. Returns how to unregister them. */
export function registerWaiters(waiters: Waiters, checks: readonly WaitedFor[]): () => void {
  const unregister = checks.map(({ policy, key }) => {
    const known = waitersIn(policy.storeConfig.store)
    const state = stateName(policy.name, key)
    const all = known.get(state) ?? new Set()
    known.set(state, all.add(waiters))
    return () => {
      if (all.delete(waiters) && all.size === 0) known.delete(state)
    }
  })
  return () => {
    for (const each of unregister) each()
  }
}

/** Those who wait for a key of a policy. */
export const waitersFor = (store: Store, policy: string, key: string): readonly Waiters[] => [
  ...(waitersIn(store).get(stateName(policy, key)) ?? []),
]

/** Those who wait for any key of policies. */
export const waitersForAll = (store: Store, policies: readonly string[]): readonly Waiters[] =>
  [...waitersIn(store)].flatMap(([state, all]) => (policies.includes(JSON.parse(state)[0]) ? [...all] : []))

/** Changes states while those who wait for them are held. They go on after it, in their order. */
export async function whileHeld<T>(
  find: () => readonly Waiters[],
  change: () => Promise<T>,
  keepTurns = false,
): Promise<T> {
  const hold = (haveTurns: boolean): readonly Held[] =>
    [...new Set(find())].filter((each) => each.haveTurns === haveTurns).map((each) => each.hold())
  const turns = keepTurns ? [] : hold(true)
  if (turns.length > 0) await Promise.allSettled(turns.map(({ refunds }) => refunds))
  // Lines at last: those who had turns wait in line from now on.
  const held = [...hold(false), ...turns]
  try {
    return await change()
  } finally {
    for (const { resume } of held) resume()
  }
}
