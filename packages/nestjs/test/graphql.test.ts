import { ApolloDriver } from '@nestjs/apollo'
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql'
import { MercuriusDriver } from '@nestjs/mercurius'
import { fakeClock } from '@spillway/conformance'
import { afterEach, describe, expect, test } from 'vitest'
import {
  memoryStore,
  perMinute,
  RateLimit,
  RateLimitDecision,
  RateLimitModule,
  type RequestDecision,
  SkipRateLimit,
} from '../src/index.ts'
import { appOf, closeApps } from './apps.ts'

// Apps of @nestjs/graphql, with its drivers.

afterEach(closeApps)

@Resolver()
class BookResolver {
  @Query(() => Number)
  left(@RateLimitDecision() decision: RequestDecision) {
    return decision.remaining
  }

  @Query(() => Number)
  @RateLimit({ default: { cost: 3 } })
  search(@RateLimitDecision() decision: RequestDecision) {
    return decision.remaining
  }

  @Query(() => String)
  @SkipRateLimit()
  health() {
    return 'ok'
  }
}

const DRIVERS = [
  ['Apollo', 'Express', ApolloDriver],
  ['Mercurius', 'Fastify', MercuriusDriver],
] as const

describe.each(DRIVERS)('%s on %s', (_, platform, driver) => {
  const started = async () => {
    const limits = RateLimitModule.forRoot({ quota: perMinute(5), store: memoryStore({ clock: fakeClock() }) })
    const graphql = GraphQLModule.forRoot({ driver, autoSchemaFile: true })
    const app = await appOf(platform, [limits, graphql], [], [BookResolver])
    await app.listen(0, '127.0.0.1')
    const url = `${await app.getUrl()}/graphql`
    return async (query: string) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })
      const { data, errors } = (await response.json()) as { data: unknown; errors?: { message: string }[] }
      const quota = ['ratelimit', 'retry-after'].map((name) => response.headers.get(name))
      return { data, errors: errors?.map(({ message }) => message), quota }
    }
  }

  test('counts every field, so that aliases do not evade the limit, and sets the headers', async () => {
    const ask = await started()
    const { data, quota } = await ask('{ a: left b: left }')
    expect([Object.values(data as object).sort(), quota]).toEqual([
      [3, 4],
      ['"default";r=3;t=12', null],
    ])
    const searched = await ask('{ search health }')
    expect([searched.data, searched.quota]).toEqual([{ search: 0, health: 'ok' }, ['"default";r=0;t=12', null]])
    const denied = await ask('{ left }')
    expect([denied.data, denied.errors?.length, denied.quota]).toEqual([null, 1, ['"default";r=0;t=12', '12']])
  })

  test('counts neither a skipped field nor an invalid query', async () => {
    const ask = await started()
    expect((await ask('{ health }')).quota).toEqual([null, null])
    expect((await ask('{ nothing }')).quota).toEqual([null, null])
    expect((await ask('{ left }')).data).toEqual({ left: 4 })
  })
})
