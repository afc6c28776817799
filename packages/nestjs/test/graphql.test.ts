import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { ApolloDriver } from '@nestjs/apollo'
import type { Type } from '@nestjs/common'
import {
  Field,
  GraphQLModule,
  ObjectType,
  Query,
  ResolveField,
  ResolveReference,
  Resolver,
  Subscription,
} from '@nestjs/graphql'
import { MercuriusDriver } from '@nestjs/mercurius'
import { fakeClock } from '@spillway/conformance'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
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

@Resolver()
class TickResolver extends BookResolver {
  @Subscription(() => Number)
  ticks(@RateLimitDecision() decision: RequestDecision) {
    return Readable.from([{ ticks: decision.remaining }])
  }
}

/** Subscribes over a connection of its own, and returns whether the first answer is an event. */
async function subscribes(url: string, localAddress: string): Promise<boolean> {
  const socket = new WebSocket(url, 'graphql-transport-ws', { localAddress })
  const next = async (): Promise<{ type: string; payload: unknown }> =>
    JSON.parse(String((await once(socket, 'message'))[0]))
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'connection_init' }))
  await next()
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'subscription { ticks }' } }))
  const { type, payload } = await next()
  socket.close()
  return type === 'next' && (payload as { data?: unknown }).data != null
}

// The connection was not found: all clients counted as one.
test('counts subscriptions by the address of their connection', async () => {
  const limits = RateLimitModule.forRoot({ quota: perMinute(1), store: memoryStore({ clock: fakeClock() }) })
  const options = { driver: ApolloDriver, autoSchemaFile: true, subscriptions: { 'graphql-ws': true } }
  const app = await appOf('Express', [limits, GraphQLModule.forRoot(options)], [], [TickResolver])
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  const allowed: boolean[] = []
  for (const from of ['127.0.0.1', '127.0.0.1', '127.0.0.2'])
    allowed.push(await subscribes(`ws://127.0.0.1:${port}/graphql`, from))
  expect(allowed).toEqual([true, false, true])
})

@ObjectType()
class Author {
  @Field(() => String)
  name = 'Ann'
}

@Resolver(() => Author)
class AuthorResolver {
  @Query(() => Author)
  author() {
    return new Author()
  }

  @ResolveField(() => Number)
  @RateLimit({ default: { quota: perMinute(1) } })
  books() {
    return 7
  }
}

@Resolver(() => Author)
class ReferenceResolver {
  @RateLimit({ default: { cost: 2 } })
  @ResolveReference()
  author() {
    return new Author()
  }
}

// Nest calls no guard for such a field by default: the decorator had no effect.
describe.each(DRIVERS)('a decorated field, with %s on %s', (_, platform, driver) => {
  const appWith = (resolver: Type, options: object) => {
    const limits = RateLimitModule.forRoot({ quota: perMinute(50), store: memoryStore({ clock: fakeClock() }) })
    const graphql = GraphQLModule.forRoot({ driver, autoSchemaFile: true, ...options })
    return appOf(platform, [limits, graphql], [], [resolver])
  }

  test('is refused if guards are not called for it', async () => {
    for (const options of [{}, { fieldResolverEnhancers: ['filters'] }]) {
      const app = await appWith(AuthorResolver, options)
      await expect(app.init()).rejects.toThrow(
        '@RateLimit: Nest calls no guard for "books", so that it is not limited. Write GraphQLModule.forRoot(',
      )
    }
    const app = await appWith(ReferenceResolver, {})
    await expect(app.init()).rejects.toThrow('Nest calls no guard for "author"')
  })

  test('is limited if they are', async () => {
    const app = await appWith(AuthorResolver, { fieldResolverEnhancers: ['guards'] })
    await app.listen(0, '127.0.0.1')
    const answers: unknown[] = []
    for (let i = 0; i < 2; i++) {
      const body = JSON.stringify({ query: '{ author { name books } }' })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${await app.getUrl()}/graphql`, { method: 'POST', headers, body })
      answers.push(((await response.json()) as { errors?: { message: string }[] }).errors?.[0]?.message)
    }
    expect(answers).toEqual([undefined, 'Rate Limit Exception'])
  })
})
