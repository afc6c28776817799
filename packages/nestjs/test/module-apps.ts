import { fakeClock, type Send, sendTo } from '@spillway/conformance'
import { memoryStore, perHour, perMinute, RateLimitModule, type RateLimitOptions } from '../src/index.ts'
import { appOf, serverOf } from './apps.ts'

type Parts = Parameters<typeof appOf>

export async function serve(platform: string, options: RateLimitOptions, controllers: Parts[2]) {
  const store = memoryStore({ clock: fakeClock() })
  return sendTo(await serverOf(await appOf(platform, [RateLimitModule.forRoot({ store, ...options })], controllers)))
}

export const toldBy = async (send: Send, path: string, method: 'GET' | 'POST' = 'GET') => {
  const { status, headers } = await send({ path, method })
  return `${status} ${headers['ratelimit']}`
}

export const policies = [
  { name: 'requests', quota: perMinute(10) },
  { name: 'daily', quota: perHour(60) },
]

export const started = (options: RateLimitOptions, ...controllers: (new () => object)[]) =>
  serve('Express', options, controllers).then(
    () => 'started',
    (error: Error) => error.message,
  )
