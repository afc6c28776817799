import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Octokit } from '@octokit/core'
import { limitedFetch, type PacerOptions, pacer } from '@spillway/client'
import { pacing } from '@spillway/client/undici'
import { memoryStore, perSecond } from '@spillway/memory'
import axios from 'axios'
import got from 'got'
import ky from 'ky'
import { Agent, request, fetch as undiciFetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

// Real clients and a real server, in real time: that is what they have. Nothing is asserted but that no call is too early.

/** When the server got calls, and what it answers to them: 429 to the path /limited, for as long as it says. */
const calls: { readonly url: string; readonly at: number }[] = []
const server = createServer((req, res) => {
  calls.push({ url: req.url ?? '', at: performance.now() })
  if (req.url === '/limited') res.writeHead(429, { 'retry-after-ms': '300' })
  req.resume().on('end', () => res.end('{}'))
})
let origin = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close().closeAllConnections())

type Get = (url: string) => Promise<unknown>

const gotOf = (options: PacerOptions): Get => {
  const own = pacer(options)
  const api = got.extend({
    throwHttpErrors: false,
    retry: { limit: 0 },
    hooks: {
      beforeRequest: [({ url, method }) => own.pace({ url: url ?? '', method })],
      afterResponse: [
        async (response) => {
          await own.learn({ url: response.requestUrl }, { status: response.statusCode, headers: response.headers })
          return response
        },
      ],
    },
  })
  return (url) => api(url)
}

const CLIENTS: readonly (readonly [string, (options: PacerOptions) => Get])[] = [
  [
    'fetch',
    (options) => {
      const fetch = limitedFetch({ ...options, retries: 0 })
      return (url) => fetch(url)
    },
  ],
  [
    'ky',
    (options) => {
      const fetch = limitedFetch({ ...options, retries: 0 })
      const client = ky.create({ fetch, retry: 0, throwHttpErrors: false })
      return (url) => client(url)
    },
  ],
  [
    'axios',
    (options) => {
      const fetch = limitedFetch({ ...options, retries: 0 })
      const client = axios.create({ adapter: 'fetch', env: { fetch }, validateStatus: () => true })
      return (url) => client.get(url)
    },
  ],
  [
    'Octokit',
    (options) => {
      const octokit = new Octokit({ request: { fetch: limitedFetch({ ...options, retries: 0 }) } })
      return (url) => octokit.request(`GET ${url}`).catch((error: Error) => error)
    },
  ],
  ['got', gotOf],
  [
    'undici',
    (options) => {
      const dispatcher = new Agent().compose(pacing(options))
      return async (url) => (await request(url, { dispatcher })).body.text()
    },
  ],
  [
    "undici's fetch",
    (options) => {
      const dispatcher = new Agent().compose(pacing(options))
      return async (url) => (await undiciFetch(url, { dispatcher })).text()
    },
  ],
]

const options = (): PacerOptions => ({ quota: perSecond(20, { burst: 1 }), store: memoryStore() })

/** By how much a timer may be early. */
const EARLY_MS = 3

describe.each(CLIENTS)('%s', (_, clientOf) => {
  test('is paced', async () => {
    const get = clientOf(options())
    calls.length = 0
    const start = performance.now()
    await Promise.all([1, 2, 3, 4, 5].map((i) => get(`${origin}/${i}`)))
    expect(calls).toHaveLength(5)
    expect((calls[4]?.at ?? 0) - start).toBeGreaterThan(200 - EARLY_MS)
  })

  test('pauses after a denial', async () => {
    const get = clientOf(options())
    calls.length = 0
    await get(`${origin}/limited`)
    await get(`${origin}/after`)
    expect(calls.map(({ url }) => url)).toEqual(['/limited', '/after'])
    expect((calls[1]?.at ?? 0) - (calls[0]?.at ?? 0)).toBeGreaterThan(300 - EARLY_MS)
  })

  test('rejects calls that would wait too long', async () => {
    const get = clientOf({ ...options(), quota: perSecond(1, { burst: 1 }), maxWait: 50 })
    calls.length = 0
    await get(`${origin}/1`)
    const result = await get(`${origin}/2`).then(
      (answer) => answer,
      (error: unknown) => error,
    )
    expect(result).toBeInstanceOf(Error)
    expect(calls).toHaveLength(1)
  })
})

test('redirects that fetch follows count', async () => {
  const moved = createServer((_, res) => res.writeHead(302, { location: `${origin}/moved` }).end())
  await new Promise<void>((resolve) => moved.listen(0, '127.0.0.1', resolve))
  try {
    const fetch = limitedFetch(options())
    calls.length = 0
    await fetch(`http://127.0.0.1:${(moved.address() as AddressInfo).port}/`)
    await fetch(`${origin}/next`)
    expect(calls.map(({ url }) => url)).toEqual(['/moved', '/next'])
    expect((calls[1]?.at ?? 0) - (calls[0]?.at ?? 0)).toBeGreaterThan(50 - EARLY_MS)
  } finally {
    moved.close().closeAllConnections()
  }
})

test('an answer that never ends is returned, and its body is the callers own', async () => {
  const endless = createServer((_, res) => void res.writeHead(200).write('x'))
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
  try {
    const fetch = limitedFetch(options())
    const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/`
    const abort = new AbortController()
    const answers = await Promise.all([1, 2, 3].map(() => fetch(url, { signal: abort.signal })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    abort.abort()
    await expect(answers[0]?.text()).rejects.toThrow('aborted')
  } finally {
    endless.close().closeAllConnections()
  }
})

test('undici: a call whose service is gone rejects, and counts as failed', async () => {
  const dispatcher = new Agent().compose(pacing({ ...options(), quota: perSecond(1000) }))
  const errors: unknown[] = []
  for (let i = 0; i < 40; i++) await request('http://127.0.0.1:1/', { dispatcher }).catch((error) => errors.push(error))
  expect(errors).toHaveLength(40)
  expect(errors.map((error) => (error as { code?: string }).code)).toContain('ERR_SPILLWAY_SERVICE_DOWN')
})
