import type { Redis } from 'ioredis'

/**
 * A minimal hand-written bucket script: one algorithm, one quota, no bounds, and no check of the state's format. Repeated
 * keys are read and written repeatedly.
 */
const BUCKETS = `
local time = redis.call('TIME')
local now, unit, size = time[1] * 1000000 + time[2], tonumber(ARGV[1]), tonumber(ARGV[2])
local reply = {}
for i = 1, #KEYS do
  local fullAt = tonumber(redis.call('GET', KEYS[i]) or now)
  local ahead = fullAt > now and fullAt - now or 0
  local allowed = ahead + unit <= size
  if allowed then
    ahead = ahead + unit
    redis.call('SET', KEYS[i], now + ahead, 'PX', math.ceil(ahead / 1000) + 60000)
  end
  reply[2 * i - 1], reply[2 * i] = allowed and 1 or 0, ahead
end
return reply`

/** The maximum number of decisions in one call, the same as in `redisStore`. */
const MOST = 100

interface Waiting {
  readonly key: string
  readonly resolve: (answer: object) => void
  readonly reject: (error: unknown) => void
}

/** Coalesces the decisions of an event-loop tick into one call, without any other feature. */
export async function askingByHand(client: Redis, unitMicros: number, burst: number) {
  const sha = (await client.script('LOAD', BUCKETS)) as string
  let waiting: Waiting[] = []
  const send = (some: readonly Waiting[]): void => {
    const keys = some.map(({ key }) => `hand:${key}`)
    const answered = (reply: unknown): void => {
      const numbers = reply as number[]
      some.forEach(({ resolve }, i) => {
        const ahead = numbers[2 * i + 1] as number
        resolve({
          allowed: numbers[2 * i] === 1,
          remaining: burst - Math.ceil(ahead / unitMicros),
          resetAfterMs: ahead / 1000,
        })
      })
    }
    const failed = (error: unknown): void => {
      for (const { reject } of some) reject(error)
    }
    client.evalsha(sha, keys.length, ...keys, unitMicros, burst * unitMicros).then(answered, failed)
  }
  const flush = (): void => {
    const all = waiting
    waiting = []
    for (let i = 0; i < all.length; i += MOST) send(all.slice(i, i + MOST))
  }
  return (key: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (waiting.push({ key, resolve, reject }) === 1) setImmediate(flush)
    })
}
