import { digester, hasKnownHashes } from './digest.ts'
import type { StateKey } from './store.ts'

/** The most characters of a policy and a key that are kept as they are. */
const LONGEST = 512

/** Reports whether a key is so long that only a digest of it is kept. */
export const isLong = ({ policy, key }: StateKey): boolean => policy.length + key.length > LONGEST

/**
 * Builds what names each pair of policy and key by one text: a digest if the key is long, or if anybody can choose texts
 * that collide in this runtime's Map. The text is joined, not concatenated: a key is often a slice of a header, and in V8
 * a concatenation keeps the whole header alive.
 */
export function stateNamer(): (state: StateKey) => string {
  const digestsAll = hasKnownHashes()
  let digest: ((name: string) => string) | undefined
  return (state) => {
    const name = [state.policy.length, state.policy, state.key].join(' ')
    if (!digestsAll && !isLong(state)) return name
    digest ??= digester()
    return digest(name)
  }
}
