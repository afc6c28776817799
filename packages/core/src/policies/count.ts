import { QuotaError } from '../common/errors.ts'

/** The most policies of a limiter: one atomic step of many more would block its server, and Redis takes less than 8,000. */
export const MOST_POLICIES = 1_000

/** What to write instead of a policy for each customer. */
export const OF_EACH_CUSTOMER =
  'For a quota of each customer, write one policy with a quota function: quota: (request) => perMinute(100).'

/** Checks how many policies a limiter has. */
export function checkAtMost(option: string, count: number): void {
  if (count <= MOST_POLICIES) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${option} must have at most ${MOST_POLICIES} entries, as a call checks all of them; got ${count}. ${OF_EACH_CUSTOMER}`,
  )
}
