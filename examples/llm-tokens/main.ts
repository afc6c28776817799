// Each API key has 10,000 tokens a minute: a request consumes the longest answer's cost, and is settled to the actual cost.

import { pathToFileURL } from 'node:url'
import { serve } from '@hono/node-server'
import { perMinute, rateLimit } from '@spillway/hono'
import { type Context, Hono } from 'hono'
import { stream } from 'hono/streaming'
import { answerTo, type Prompt, tokensIn } from './model.ts'

type Env = { Variables: { used: number } }

export const app = new Hono<Env>()

const promptOf = async (c: Context): Promise<Prompt> => {
  const { prompt = '', max_tokens = 500 } = await c.req.json().catch(() => ({}))
  return { prompt: String(prompt), max_tokens: Math.max(1, Math.trunc(Number(max_tokens)) || 1) }
}

const tokens = rateLimit({
  name: 'tokens',
  quota: perMinute(10_000),
  key: 'header:authorization',
  cost: async (c) => {
    const { prompt, max_tokens } = await promptOf(c)
    return tokensIn(prompt) + max_tokens
  },
  // Called when the stream ends or the client disconnects, with the tokens that were sent until then.
  settle: (c) => c.get('used'),
})

app.post('/chat', tokens, async (c) => {
  const prompt = await promptOf(c)
  let used = tokensIn(prompt.prompt)
  c.set('used', used)
  return stream(c, async (out) => {
    for await (const word of answerTo(prompt)) {
      if (out.aborted) break
      await out.write(word)
      c.set('used', ++used)
    }
  })
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  serve({ fetch: app.fetch, port: 3000 }, () => console.log('http://localhost:3000'))
}
