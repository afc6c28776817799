import type { AddressInfo } from 'node:net'
import { buildSchema } from 'graphql'
import { expect, onTestFinished, test } from 'vitest'
import { withRateLimits } from './directive.ts'
import { startApollo, yogaServer } from './servers.ts'

const servers: Readonly<Record<string, () => Promise<string>>> = {
  'GraphQL Yoga': async () => {
    const server = yogaServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`
  },
  'Apollo Server': async () => {
    const { server, url } = await startApollo(0)
    onTestFinished(() => server.stop())
    return url
  },
}

interface Result {
  readonly data: Readonly<Record<string, string>> | null
  readonly errors?: readonly {
    readonly path: readonly string[]
    readonly extensions: Readonly<Record<string, unknown>>
  }[]
}

test.each(Object.entries(servers))('in %s, each use of a field costs what the directive says', async (_, start) => {
  const url = await start()
  const ask = async (query: string): Promise<Result> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })).json() as Promise<Result>
  }
  // 100 units an hour, and an export costs 50.
  expect(await ask('{ first: export version }')).toEqual({ data: { first: 'all of it', version: '1' } })
  const { data, errors = [] } = await ask('{ second: export third: export }')
  expect([data, errors.length]).toEqual([null, 1])
  expect(errors[0]?.path).toEqual(['third'])
  expect(errors[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED' })
  // 50 units at one unit every 36 seconds.
  expect(Number(errors[0]?.extensions['retryAfterMs'])).toSatisfy((wait) => wait > 1_770_000 && wait <= 1_800_000)
  expect(await ask('{ search(text: "more") }')).toEqual({ data: { search: 'found more' } })
})

test('a schema without the directive is an error', () => {
  expect(() => withRateLimits(buildSchema('type Query { a: Int }'))).toThrow('add typeDefs')
})
