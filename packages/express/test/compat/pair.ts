import express, { type Express } from 'express'
import { type Options as TheirOptions, rateLimit as theirs } from 'express-rate-limit'
import request from 'supertest'
import { vi } from 'vitest'
import { rateLimit as ours } from '../../src/compat/index.ts'

/** A request, and its delay after the one before it. */
export interface Asked {
  readonly afterMs?: number
  readonly method?: 'get' | 'post'
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

export const START = Date.UTC(2026, 0, 1)

/** Stops the clock that both limiters read; only requests with a delay advance it. */
export const stopClock = (): void => void vi.useFakeTimers({ toFake: ['Date'], now: START })

/**
 * An app that answers `/fails` with 500, closes the connection on `/broken`, and otherwise answers with its limiter's
 * counts.
 */
export function appOf(limit: express.RequestHandler, property = 'rateLimit'): Express {
  const app = express()
  app.disable('etag')
  app.set('trust proxy', 1)
  app.use(limit)
  app.get('/fails', (_req, res) => void res.status(500).send('failed'))
  app.get('/broken', (_req, res) => void res.destroy())
  app.use((req, res) => void res.json((req as unknown as Record<string, unknown>)[property] ?? null))
  app.use((error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
    res.status(503).send(error.message)
  })
  return app
}

/** All parts of an answer; its date only if the limiter has set it. */
export async function answer(app: Express, { method = 'get', path = '/', headers = {} }: Asked): Promise<unknown> {
  try {
    const { status, headers: all, text } = await request(app)[method](path).set(headers)
    const { date, ...rest } = all
    return { status, text, headers: 'x-ratelimit-reset' in rest ? all : rest }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

/** Sends the same requests to both limiters, and returns their answers. */
export async function bothTell(
  options: () => Partial<TheirOptions>,
  story: readonly Asked[],
): Promise<readonly [theirs: readonly unknown[], ours: readonly unknown[]]> {
  const property = options().requestPropertyName
  const apps = [appOf(theirs(options()), property), appOf(ours(options()), property)] as const
  const answers: [unknown[], unknown[]] = [[], []]
  for (const asked of story) {
    vi.setSystemTime(Date.now() + (asked.afterMs ?? 0))
    for (const [i, app] of apps.entries()) answers[i]?.push(await answer(app, asked))
  }
  return answers
}
