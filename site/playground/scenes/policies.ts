import { httpGuard, type Verdict } from '@spillway/core/http'
import { memoryStore } from '@spillway/memory'
import { ALGORITHMS, functionIn, type Numbers } from '../algorithms.ts'
import { keyBy, type Run, reader, replyTo, runApp, startOf } from '../app.ts'
import type { LaneKind } from '../lane-kind.ts'
import type { Choices } from '../link.ts'
import type { Arrival, Traffic } from '../traffic.ts'

const { quota: quotaOf, code: codeOf } = ALGORITHMS.token

/** A policy of the visitor's numbers. */
interface Named {
  readonly name: string
  readonly numbers: Numbers
}

/** One policy, another one, and both: a request is allowed if both allow it, and consumes nothing of either if not. */
export function policies(choices: Choices): readonly LaneKind[] {
  const { limit2, every2, unit2 } = choices
  const first = { name: 'sustained', numbers: choices }
  const second = { name: 'peak', numbers: { ...choices, limit: limit2, every: every2, unit: unit2, burst: 0 } }
  const lane = (id: string, name: string, enforced: readonly Named[]): LaneKind => {
    const codes = enforced.map(({ numbers }) => codeOf(numbers))
    return {
      id,
      name,
      code: codes.join(', '),
      ...(enforced.length === 1
        ? { options: [`quota: ${codes[0]}`] }
        : {
            options: [],
            policies: enforced.map(({ name, numbers }, i) => [name, codes[i] as string, numbers.limit] as const),
          }),
      imports: [...new Set(codes.map(functionIn))],
      left: enforced.length === 1 ? 'units left' : 'units left of the first',
      run: (traffic) => runPolicies(enforced, traffic, choices),
    }
  }
  return [
    lane('first', 'The first policy', [first]),
    lane('second', 'The second policy', [second]),
    lane('both', 'Both together', [first, second]),
  ]
}

function runPolicies(enforced: readonly Named[], traffic: Traffic, { apart, headers }: Choices): Run {
  const quotas = enforced.map(({ numbers }) => quotaOf(numbers))
  const clock = { now: startOf(Math.max(...quotas.map(({ window }) => window))) }
  const store = memoryStore({ clock: () => clock.now })
  const keyOf = keyBy(apart)
  const guard = httpGuard<Arrival>(
    {
      policies: enforced.map(({ name }, i) => ({
        name,
        quota: quotas[i] as (typeof quotas)[number],
        key: keyOf,
        cost: ({ cost }: Arrival) => cost,
      })),
      headers,
      store,
    },
    reader,
  )
  const key = keyOf({ client: 'you' })
  const buckets = enforced.map(({ name }, i) => ({
    name: `of "${name}"`,
    policy: name,
    key,
    quota: quotas[i] as (typeof quotas)[number],
    store,
  }))
  return runApp({ clock, answer: (arrival) => replyTo(guard(arrival) as Verdict), buckets }, traffic)
}
