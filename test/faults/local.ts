import { perHour, rateLimiter, type Store } from '@spillway/core'
import { until } from '../services/redis-cluster.ts'
import { LOCAL_LIMIT, type Served } from './apps.ts'

/** Sends this number of concurrent requests, and returns how many each app allowed. */
export const exhaust = (apps: readonly Served[], client: string, times: number): Promise<readonly number[]> =>
  Promise.all(
    apps.map(async ({ ask }) => {
      const answers = await Promise.all(Array.from({ length: times }, () => ask(client)))
      return answers.filter(({ status }) => status === 200).length
    }),
  )

/** The maximum that one process allows while its store fails: quota + quota × processes, and refills meanwhile. */
export function boundOf(elapsedMs: number, limit = LOCAL_LIMIT): number {
  const refilled = Math.floor((elapsedMs * limit) / 3_600_000)
  return 2 * (limit + refilled)
}

/** How many units each app's policy has consumed in the store, even if its circuit is open. */
export const takenBy = (
  store: Store,
  apps: readonly Served[],
  clients: readonly string[],
): Promise<readonly number[]> =>
  Promise.all(
    apps.map(async ({ name }) => {
      const quota = perHour(LOCAL_LIMIT)
      const limiter = rateLimiter({ quota, store, name, deadline: '10s', onStoreError: 'throw' })
      const taken = await Promise.all(
        clients.map(async (client) => {
          let remaining = LOCAL_LIMIT
          const peeked = async (): Promise<boolean> => {
            ;({ remaining } = await limiter.peek(client))
            return true
          }
          await until(() => peeked().catch(() => false))
          return LOCAL_LIMIT - remaining
        }),
      )
      return taken.reduce((sum, each) => sum + each, 0)
    }),
  )
