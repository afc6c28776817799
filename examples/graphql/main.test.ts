import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parse } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { complexityOf } from './complexity.ts'
import { app } from './main.ts'

let server: Server
let url: string

beforeAll(async () => {
  server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`
})

afterAll(() => void server.close())

const ask = (query: unknown, variables?: object): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })

const books = 'query ($first: Int!) { books(first: $first) { title author { name } } }'

test('a query costs a unit for each field that it returns', async () => {
  const response = await ask(books, { first: 300 })
  const { data, extensions } = (await response.json()) as { data: { books: object[] }; extensions: object }
  expect(data.books).toHaveLength(300)
  expect(data.books[299]).toEqual({ title: 'Volume 300', author: { name: 'Ursula' } })
  expect(extensions).toEqual({ cost: 901, remaining: 99 })
  expect(response.headers.get('ratelimit-policy')).toBe('"units";q=1000;w=60')
})

test('a query that does not fit now is denied with the wait, and a smaller one is allowed', async () => {
  const denied = await ask(books, { first: 100 })
  expect(denied.status).toBe(429)
  // 301 units at one unit every 60 ms, of which about 99 remain.
  expect(Number(denied.headers.get('retry-after'))).toBeLessThanOrEqual(13)
  expect((await ask('{ books(first: 2) { title } }')).status).toBe(200)
})

test('a query that can never fit is denied without a wait', async () => {
  const denied = await ask('{ books(first: 50) { author { books(first: 50) { title } } } }')
  expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, null])
  expect(await denied.json()).toMatchObject({ 'retry-after-ms': null, 'violated-policies': ['units'] })
})

test.each([
  ['is no query', '{ books'],
  ['does not fit the schema', '{ cars }'],
  ['is missing', undefined],
])('one that %s costs a unit', async (_, query) => {
  const response = await ask(query)
  expect(response.status).toBe(400)
  expect(response.headers.get('ratelimit')).toMatch(/^"units";r=[0-9]+/)
})

const bomb = `{ ...f0 } ${Array.from({ length: 30 }, (_, i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`).join(' ')}
  fragment f30 on Query { books(first: 1) { title } }`

test.each<[string, string, number, object?]>([
  ['a field', '{ a }', 1],
  ['fields in fields', '{ a { b { c } d } }', 4],
  ['a list', '{ a(first: 10) { b c } }', 21],
  ['a list in a list', '{ a(first: 10) { b(first: 10) { c } } }', 1 + 10 * (1 + 10)],
  ['a list whose length is reported beside it', 'query ($n: Int!) { a(first: $n) { b } }', 8, { n: 7 }],
  ['a list whose length is reported where it is not', 'query ($n: Int = 9) { a(first: $n) { b } }', 10],
  [
    'several operations that tell it',
    'query A($n: Int = 9) { a(first: $n) { b } } query B($n: Int = 1) { a(first: $n) { b } }',
    20,
  ],
  ['a list whose length makes no sense', '{ a(first: -5) { b } }', 2],
  ['inline fragments', '{ ... on Query { a } ... on Query { a } }', 2],
  ['several operations, each of them', 'query A { a } query B { a b }', 3],
  ['fragments in fragments, in no time', bomb, 2 ** 30 * 2],
])('the complexity of %s', (_, query, units, variables = {}) => {
  expect(complexityOf(parse(query), variables as Record<string, unknown>)).toBe(units)
})
