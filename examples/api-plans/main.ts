// A public API with plans: each account has a rate and a monthly volume, guests have a small quota per address.

import { pathToFileURL } from 'node:url'
import { ipKey, memoryStore, perMinute, perSecond, rateLimit, tokenBucket } from '@spillway/express'
import express, { type Express, type Request, type Response } from 'express'

/** The account of a verified API key. */
export interface Account {
  readonly id: string
  readonly plan: keyof typeof PLANS
}

// Each plan's quotas are built once. The rate protects the servers, the volume is what the customer pays for.
const PLANS = {
  free: { rate: perSecond(2, { burst: 5 }), volume: tokenBucket({ limit: 1000, per: '30d' }) },
  pro: { rate: perSecond(20, { burst: 50 }), volume: tokenBucket({ limit: 100_000, per: '30d' }) },
}

const accountOf = (res: Response | undefined): Account | undefined => res?.locals.account
const account = (req: Request): Account | undefined => accountOf(req.res)
const planOf = (req: Request) => PLANS[account(req)?.plan ?? 'free']

/** The API for these accounts, by API key. */
export function apiOf(accounts: ReadonlyMap<string, Account>, store = memoryStore()): Express {
  const app = express()

  // Verify the API key first: an unverified key must not select the account that is charged.
  app.use((req, res, next) => {
    const key = req.get('authorization')?.replace(/^Bearer /, '')
    res.locals.account = key === undefined ? undefined : accounts.get(key)
    if (key === undefined || accounts.has(key)) next()
    else res.status(401).json({ error: 'Unknown API key.' })
  })

  app.use(
    rateLimit({
      store,
      policies: [
        // If key returns undefined, the policy does not apply to the request. An IPv6 client has a network of addresses,
        // which ipKey turns into one key.
        { name: 'guests', quota: perMinute(10), key: (req) => (account(req) ? undefined : ipKey(req.ip)) },
        { name: 'rate', quota: (req) => planOf(req).rate, key: (req) => account(req)?.id },
        {
          name: 'volume',
          quota: (req) => planOf(req).volume,
          key: (req) => account(req)?.id,
          // An export costs one unit per row. It consumes 100 first, and settle corrects that when the rows are known.
          cost: (req) => (req.path === '/export' ? 100 : 1),
          settle: (res) => Number(res.getHeader('x-rows') ?? 1),
        },
      ],
      // Requests that fail on our side are refunded.
      refundIf: (status) => status >= 500,
    }),
  )

  app.get('/items', (_req, res) => {
    res.json([{ id: 1 }])
  })
  app.get('/export', (req, res) => {
    const rows = Number(req.query.rows ?? 1)
    res.setHeader('x-rows', rows)
    res.json({ rows })
  })
  app.get('/broken', (_req, res) => {
    res.status(500).json({ error: 'ours' })
  })
  return app
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const accounts = new Map<string, Account>([
    ['free-key', { id: 'ann', plan: 'free' }],
    ['pro-key', { id: 'bob', plan: 'pro' }],
  ])
  apiOf(accounts).listen(3000, () => console.log('http://localhost:3000/items'))
}
