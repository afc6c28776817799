import { digester, hasKnownHashes } from '../common/digest.ts'
import type { StateKey } from './store.ts'

/** The most characters of a policy and a key that are stored undigested. */
const LONGEST = 512

/** Reports whether a key is so long that only its digest is stored. */
export const isLong = ({ policy, key }: StateKey): boolean => policy.length + key.length > LONGEST

/**
 * Builds a function that names each pair of policy and key: by a digest if the key is long, or if clients can choose texts
 * that collide in this runtime's Map. The text is joined, not concatenated: a key is often a slice of a header, and in V8
 * a concatenation keeps the whole header in memory.
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
