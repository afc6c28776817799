import type { Decision } from '@spillway/core'

const MINUTES = 60
/** The most policies that are counted: names come from the program, but a program may generate them. */
const MOST_POLICIES = 100

const BLOCK_LIST = ' (blocked)'

/** The policy of a block list, or the policy itself. */
const policyOf = (name: string): string => (name.endsWith(BLOCK_LIST) ? name.slice(0, -BLOCK_LIST.length) : name)

/** The decisions about a policy in the last hour, by minute. */
interface Hour {
  readonly minutes: Float64Array
  readonly denied: Float64Array
}

/** Counts denials of the last hour for each policy, in bounded memory and without timers. */
export class Denials {
  readonly #hours = new Map<string, Hour>()
  readonly #clock: () => number

  constructor(clock: () => number) {
    this.#clock = clock
  }

  count({ violated }: Decision): void {
    // A denial of a policy and its block list is one denial of the policy.
    for (const policy of new Set(violated.flatMap((name) => [policyOf(name), name]))) {
      const hour = this.#hours.get(policy) ?? { minutes: new Float64Array(MINUTES), denied: new Float64Array(MINUTES) }
      if (!this.#hours.has(policy) && this.#hours.size >= MOST_POLICIES) continue
      this.#hours.set(policy, hour)
      const minute = this.#minute()
      const place = minute % MINUTES
      if (hour.minutes[place] !== minute) hour.denied[place] = 0
      hour.minutes[place] = minute
      hour.denied[place] = (hour.denied[place] as number) + 1
    }
  }

  /** The denials of each minute of the last hour, the current one last. */
  lastHour(): Readonly<Record<string, readonly number[]>> {
    const now = this.#minute()
    const countsOf = ({ minutes, denied }: Hour): readonly number[] =>
      Array.from({ length: MINUTES }, (_, i) => {
        const minute = now - MINUTES + 1 + i
        const place = minute % MINUTES
        return minutes[place] === minute ? (denied[place] as number) : 0
      })
    return Object.fromEntries([...this.#hours].map(([policy, hour]) => [policy, countsOf(hour)]))
  }

  #minute(): number {
    return Math.floor(this.#clock() / 60_000)
  }
}
