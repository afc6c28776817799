// What `cached` adds to a request: the plan of one of 10,000 API keys, 1 % of which are looked up.

import { cached } from '@spillway/plans'
import { type Candidate, type MeasureOptions, measure } from './measure.ts'
import { sink } from './rivals.ts'
import { type Case, exactly, type Figure, scaled, type Table } from './table.ts'

/** The keys that requests have again and again, and how many requests there is one with a new key for. */
const [KNOWN, EVERY] = [10_000, 100]
/** So many requests that the keys of the first are evicted before they come again. */
const REQUESTS = 300_000

const planOf = (key: string): string => (key.endsWith('7') ? 'pro' : 'free')

/** Keys in a random order, always the same, of which one in `every` is new. */
function keysOf(requests: number, known: number, every: number): readonly string[] {
  const hot = Array.from({ length: known }, (_, i) => `key-${i}`)
  let seed = 1
  const next = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  return Array.from({ length: requests }, (_, i) =>
    i % every === every - 1 ? `new-${i}` : (hot[next(known)] as string),
  )
}

const map = (keys: readonly string[]): Candidate => {
  const plans = new Map(keys.map((key) => [key, planOf(key)]))
  return {
    name: 'a Map of all plans, hand-written',
    run: (keys, from, to) => {
      for (let i = from; i < to; i++) sink.seen += (plans.get(keys[i] as string) as string).length
    },
  }
}

/** A cached lookup in a promise, as of a database, and how many of its requests have needed one. */
function looking(name: string, max: number): { readonly candidate: Candidate; readonly share: () => number } {
  let [requests, lookups] = [0, 0]
  const plan = cached(
    async (key: string) => {
      lookups++
      return planOf(key)
    },
    { max, ttl: '1h' },
  )
  const use = (found: string): void => {
    sink.seen += found.length
  }
  const candidate: Candidate = {
    name,
    run: async (keys, from, to) => {
      const before = lookups
      for (let i = from; i < to; i++) {
        const found = plan(keys[i] as string)
        // One request after the other, so that each finds what those before it have looked up.
        use((typeof found === 'string' ? found : await found) as string)
      }
      // The first pass fills the cache.
      if (to - from === keys.length) lookups = before
      else requests += to - from
    },
  }
  return { candidate, share: () => lookups / Math.max(requests, 1) }
}

/** Measures lookups among so many requests. */
export async function plansTable(
  { requests, known, every }: { readonly requests: number; readonly known: number; readonly every: number },
  options: MeasureOptions,
): Promise<Table> {
  const keys = keysOf(requests, known, every)
  // With room for all keys of the list, nothing is looked up after the first pass.
  const parts = [
    looking('cached, all known', requests),
    looking('cached, 1 % looked up', known + Math.ceil(known / 10)),
  ]
  const results = await measure(
    map(keys),
    parts.map(({ candidate }) => candidate),
    keys,
    options,
  )
  const lookups: readonly Figure[] = [exactly(0), ...parts.map(({ share }) => exactly(share() * 100))]
  return {
    title: 'The plan of an API key, cached',
    how: 'One process; a Map of all plans, and lookups by cached(…) of @spillway/plans, alternate in turns of 10,000 requests with the keys of 10,000 clients. The lookup answers in a promise at once, so that its cost is that of the cache. One request in a hundred has a new key.',
    columns: ['µs added to a request', 'times a Map', '% looked up'],
    rows: results.map(({ name, nanos, ratio }, i) => ({
      name,
      figures: [scaled(nanos, 1e-3), ratio, lookups[i] as Figure],
    })),
    targets: [],
  }
}

export const cases: Readonly<Record<string, Case>> = {
  cached: (progress) => plansTable({ requests: REQUESTS, known: KNOWN, every: EVERY }, { seconds: 12, progress }),
}
