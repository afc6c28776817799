import { type MemoryStore, memoryStore, perMinute, rateLimiter } from '@spillway/memory'
import { type AdminOptions, type AuditEvent, adminHandler } from '../src/index.ts'

export const HOSTILE = '<img src=x onerror="document.title=1">\u001b[2J'

export async function setUp(options: Partial<AdminOptions> = {}) {
  const store: MemoryStore = memoryStore()
  const limiter = rateLimiter({ name: 'api', quota: perMinute(10), blocks: true, store })
  for (const [key, units] of [
    ['203.0.113.66', 10],
    [HOSTILE, 7],
    ['k'.repeat(15_000), 3],
  ] as const) {
    await limiter.consume(key, units)
  }
  const audited: AuditEvent[] = []
  const warnings: string[] = []
  const admin = adminHandler({
    limiters: [limiter],
    authorize: (request) => request.headers.get('authorization') === 'Bearer admin',
    audit: (event) => void audited.push(event),
    logger: { warn: (message) => warnings.push(message) },
    ...options,
  })
  const get = (query: string, headers: Record<string, string> = {}) =>
    admin(
      new Request(`https://app.example/any/where${query}`, { headers: { authorization: 'Bearer admin', ...headers } }),
    )
  const post = (body: unknown, headers: Record<string, string> = {}, api = 'reset') =>
    admin(
      new Request(`https://app.example/any/where?api=${api}`, {
        method: 'POST',
        headers: { authorization: 'Bearer admin', 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    )
  const token = async () => ((await (await get('?api=state')).json()) as { token: string }).token
  const keys = async () =>
    ((await (await get('?api=keys&policy=api')).json()) as { keys: { key: string; ref: string; remaining: number }[] })
      .keys
  return { admin, audited, get, keys, limiter, post, token, warnings }
}
