import type { Store } from '@spillway/core'
import { loggerOf, replicasOf, warnOnce } from '@spillway/core/internal'

/** What runtimes have, as far as they have it. */
interface Runtime {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>
    getBuiltinModule?(name: string): { readonly isWorker?: boolean } | undefined
  }
  readonly navigator?: { readonly userAgent?: string }
  readonly Deno?: unknown
}

/** Which one of several processes this one is; undefined if it may be alone. */
function placeOf({
  process,
  navigator,
  Deno,
}: Runtime): readonly [place: string, processes?: number | undefined] | undefined {
  if (navigator?.userAgent === 'Cloudflare-Workers') return ['an isolate of Cloudflare Workers']
  // Deno asks the user, or fails, when the environment is read.
  const env = (Deno === undefined && process?.env) || {}
  if (env['AWS_LAMBDA_FUNCTION_NAME']) return ['an instance of AWS Lambda']
  if (env['VERCEL']) return ['an instance of Vercel']
  if (env['pm_id'] && env['instances'] !== undefined) {
    const instances = Number(env['instances'])
    // `max` is as many as the machine has cores.
    return instances === 1 ? undefined : ['an instance of PM2', instances > 1 ? instances : undefined]
  }
  if (Number(env['NODE_APP_INSTANCE']) > 0) return ['an instance of PM2']
  return process?.getBuiltinModule?.('node:cluster')?.isWorker ? ['a worker of a cluster'] : undefined
}

/** Warns if a store that counts by itself is in one of several processes: together they allow more than each limit. */
export function warnOfLoneCounter(store: Store): void {
  const { replicas } = replicasOf(store)
  try {
    const [place, processes] =
      replicas > 1 ? [`one of ${replicas} replicas`, replicas] : (placeOf(globalThis as Runtime) ?? [])
    if (place === undefined) return
    const total =
      processes === undefined
        ? 'each of them allows each limit once'
        : `all of them together allow ${processes} times each limit`
    warnOnce(
      loggerOf(store),
      'WARN_SPILLWAY_LONE_COUNTER',
      `this process is ${place}, and counts in its own memory: ${total}. Give the limiters a store that all processes share, such as redisStore(client); or write memoryStore({ perProcess: true }) if each process is meant to have limits of its own.`,
    )
  } catch {}
}
