import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { app, users } from './main.ts'
import { tokensOfAnthropic, tokensOfGoogle, tokensOfOpenAI, unitsOf } from './usage.ts'

let server: ServerType
let url: string

beforeAll(async () => {
  for (const name of ['alice', 'bob', 'carol', 'openai', 'anthropic', 'google']) users.set(`key-of-${name}`, name)
  server = await new Promise((resolve) => {
    const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening))
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat`
})

afterAll(() => void server.close())

const chat = (
  user: string,
  prompt: string,
  max_tokens: number,
  signal?: AbortSignal,
  provider?: string,
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer key-of-${user}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt, max_tokens, provider }),
    signal: signal ?? null,
  })

const left = (response: Response): number => Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1])

test('consumes the cost of the longest answer, and settles to the actual one', async () => {
  const first = await chat('alice', 'say it briefly!!', 6_000)
  expect(left(first)).toBe(40_000 - 4 - 4 * 6_000)
  expect((await first.text()).length).toBe(50)
  // 4 for the prompt and 40 for the answer. In a second 666 units refill.
  await vi.waitFor(async () => {
    const next = await chat('alice', 'say it briefly!!', 6_000)
    await next.text()
    expect(next.status).toBe(200)
  })
})

test('denies what exceeds the remaining units, and what can never fit', async () => {
  const denied = await Promise.all([chat('bob', 'at length', 6_000), chat('bob', 'at length', 6_000)])
  expect(denied.map(({ status }) => status).sort()).toEqual([200, 429])
  const never = await chat('bob', 'at length', 20_000)
  expect([never.status, never.headers.get('retry-after')]).toEqual([429, null])
  await Promise.all([...denied, never].map((response) => response.text()))
})

test('charges a client that disconnects for the tokens that were sent until then', async () => {
  const controller = new AbortController()
  const response = await chat('carol', 'tell me everything', 9_000, controller.signal)
  expect(left(response)).toBe(40_000 - 5 - 4 * 9_000)
  const reader = response.body?.getReader()
  await reader?.read()
  controller.abort()
  await vi.waitFor(async () => {
    const next = await chat('carol', 'say it briefly', 8_000)
    await next.text()
    expect(next.status).toBe(200)
  })
})

test.each(['openai', 'anthropic', 'google'])('settles to the weighted usage that %s reports', async (provider) => {
  const prompt = `${'x'.repeat(40_000)} briefly`
  const first = await chat(provider, prompt, 1_000, undefined, provider)
  expect(left(first)).toBe(40_000 - 10_002 - 4_000)
  await first.text()
  // Half of the 10,002 tokens of the prompt were cached: 5,001 + 500.1 + 40 for the answer.
  const used = Math.ceil(5_001 + 500.1 + 40)
  await vi.waitFor(async () => {
    const next = await chat(provider, 'briefly', 1, undefined, provider)
    await next.text()
    // In the seconds since, units have refilled.
    const remaining = left(next)
    expect(remaining).toBeGreaterThanOrEqual(40_000 - used - 2 - 4 - 100)
    expect(remaining).toBeLessThan(40_000 - used + 20_000)
  })
})

// Reproduces: each invented key had a quota of its own.
test('an unknown API key gets 401, and so does a request without one', async () => {
  expect((await chat('nobody', 'briefly', 1)).status).toBe(401)
  expect((await fetch(url, { method: 'POST' })).status).toBe(401)
})

test('weighs the records of three providers alike', () => {
  const openai = { prompt_tokens: 2_006, completion_tokens: 300, prompt_tokens_details: { cached_tokens: 1_920 } }
  const anthropic = {
    input_tokens: 86,
    cache_read_input_tokens: 1_920,
    cache_creation_input_tokens: 0,
    output_tokens: 300,
  }
  const google = {
    promptTokenCount: 2_006,
    cachedContentTokenCount: 1_920,
    candidatesTokenCount: 200,
    thoughtsTokenCount: 100,
  }
  const records = [tokensOfOpenAI(openai), tokensOfAnthropic(anthropic), tokensOfGoogle(google)]
  expect(records.map(unitsOf)).toEqual([1_478, 1_478, 1_478])
  expect(unitsOf(tokensOfAnthropic({ ...anthropic, cache_creation_input_tokens: 1_000 }))).toBe(2_728)
  expect(unitsOf(tokensOfOpenAI({ prompt_tokens: 10, completion_tokens: 0, prompt_tokens_details: null }))).toBe(10)
  expect(unitsOf(tokensOfGoogle({ promptTokenCount: 10, toolUsePromptTokenCount: 5 }))).toBe(15)
})
