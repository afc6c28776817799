import type { ListedState, Step, Taken } from '@spillway/core'
import type { Listing, Server } from './base-store.ts'
import type { IoredisClient } from './clients.ts'
import { headOf, tailOf } from './name.ts'
import { deleteMatching, escaped, listMatching, type Match, SCANNERS } from './scan.ts'

/** How the keys of a server are listed and deleted by SCAN; undefined if the client has no such method. */
export function listingOf({ client, redis, prefix, calls, fail }: Server): Listing | undefined {
  if (redis.dialect === 'ioredis' && typeof (client as IoredisClient).scan !== 'function') return undefined
  const scannerOf = SCANNERS[redis.dialect]
  return {
    async deleteAll(policies) {
      calls.flush()
      const match = namesOf(prefix, policies)
      try {
        return await deleteMatching(await scannerOf(client, match.pattern), match)
      } catch (error) {
        return fail(error)
      }
    },
    async *list(policy: string, step: Step): AsyncGenerator<readonly ListedState[]> {
      calls.flush()
      const match = namesOf(prefix, [policy])
      const peek = (name: string): Promise<readonly Taken[]> =>
        calls.put([{ policy, key: '', step }], [name], undefined, undefined)
      try {
        for await (const names of listMatching(await scannerOf(client, match.pattern), match)) {
          const taken = await Promise.all(names.map(peek))
          yield names.map((name, i) => ({ ...keyIn(prefix, name), taken: taken[i]?.[0] as Taken }))
        }
      } catch (error) {
        fail(error)
      }
    },
  }
}

/** The names of these policies' states: a pattern for SCAN, and a predicate for the names that SCAN returns. */
function namesOf(prefix: string, policies: readonly string[]): Match {
  const head = headOf(prefix)
  const tails = policies.map(tailOf)
  const isWanted = (name: string): boolean => {
    const close = name.indexOf('}', head.length)
    // Names of another store may start and end like these. They have more than one pair of braces.
    return name.startsWith(head) && tails.includes(name.slice(close))
  }
  return { pattern: `${escaped(head)}*${tails.length === 1 ? escaped(tails[0] as string) : '}*'}`, isWanted }
}

/** The key in a name. */
function keyIn(prefix: string, name: string): { readonly key: string; readonly isDigest: boolean } {
  const start = headOf(prefix).length
  const key = name.slice(start, name.indexOf('}', start))
  return { key, isDigest: key.startsWith('~') }
}
