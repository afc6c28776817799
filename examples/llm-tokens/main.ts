// Each user has 40,000 units a minute: a request consumes the longest answer's cost, and is settled to the actual cost.

import { pathToFileURL } from 'node:url'
import { serve } from '@hono/node-server'
import { perMinute, rateLimit } from '@spillway/hono'
import { type Context, Hono } from 'hono'
import { stream } from 'hono/streaming'
import { answerTo, PROVIDERS, type Prompt, tokensIn } from './model.ts'
import { unitsOf } from './usage.ts'

type Env = { Variables: { user: string; used: number } }

/** The users by their API keys. Yours are in a database. */
export const users = new Map([['my-key', 'me']])

export const app = new Hono<Env>()

// Verify the API key first: an unverified key must not select the user that is charged.
app.use(async (c, next) => {
  const user = users.get(c.req.header('authorization')?.replace(/^Bearer /, '') ?? '')
  if (user === undefined) return c.json({ error: 'Unknown API key.' }, 401)
  c.set('user', user)
  return next()
})

const promptOf = async (c: Context): Promise<Prompt> => {
  const { prompt = '', max_tokens = 500, provider } = await c.req.json().catch(() => ({}))
  return {
    prompt: String(prompt),
    max_tokens: Math.max(1, Math.trunc(Number(max_tokens)) || 1),
    provider: Object.hasOwn(PROVIDERS, provider) ? provider : 'openai',
  }
}

/** The units of a prompt and as many tokens of an answer, if nothing is cached. */
const estimate = ({ prompt }: Prompt, output: number): number =>
  unitsOf({ input: tokensIn(prompt), cached: 0, written: 0, output })

const tokens = rateLimit({
  name: 'tokens',
  quota: perMinute(40_000),
  key: (c) => c.get('user'),
  cost: async (c) => {
    const prompt = await promptOf(c)
    return estimate(prompt, prompt.max_tokens)
  },
  // Called when the stream ends or the client disconnects, with the units of what was sent until then.
  settle: (c) => c.get('used'),
})

app.post('/chat', tokens, async (c) => {
  const prompt = await promptOf(c)
  let output = 0
  c.set('used', estimate(prompt, output))
  return stream(c, async (out) => {
    for await (const part of answerTo(prompt)) {
      if (out.aborted) break
      if (typeof part === 'string') await out.write(part)
      // At its end, the answer has the provider's own count, with the tokens that were cached.
      c.set('used', typeof part === 'string' ? estimate(prompt, ++output) : unitsOf(part))
    }
  })
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  serve({ fetch: app.fetch, port: 3000 }, () => console.log('http://localhost:3000'))
}
