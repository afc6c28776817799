// A public API that is sold in plans: each account has a rate and a monthly volume, guests have a little by address.

import { pathToFileURL } from 'node:url'
import { ipKey, memoryStore, perMinute, perSecond, rateLimit, tokenBucket } from '@spillway/express'
import express, { type Express, type Request, type Response } from 'express'

/** What an API key stands for, once it has been checked. */
export interface Account {
  readonly id: string
  readonly plan: keyof typeof PLANS
}

// Each plan's quotas are made once. A rate keeps the servers well, a volume is what is paid for.
const PLANS = {
  free: { rate: perSecond(2, { burst: 5 }), volume: tokenBucket({ limit: 1000, per: '30d' }) },
  pro: { rate: perSecond(20, { burst: 50 }), volume: tokenBucket({ limit: 100_000, per: '30d' }) },
}

const accountOf = (res: Response | undefined): Account | undefined => res?.locals.account
const account = (req: Request): Account | undefined => accountOf(req.res)
const planOf = (req: Request) => PLANS[account(req)?.plan ?? 'free']

/** The API, over the accounts that there are, by their keys. */
export function apiOf(accounts: ReadonlyMap<string, Account>, store = memoryStore()): Express {
  const app = express()

  // Who it is comes first: an unverified key must not choose whom it is counted as.
  app.use((req, res, next) => {
    const key = req.get('authorization')?.replace(/^Bearer /, '')
    res.locals.account = key === undefined ? undefined : accounts.get(key)
    if (key === undefined || accounts.has(key)) next()
    else res.status(401).json({ error: 'This API key is not known.' })
  })

  app.use(
    rateLimit({
      store,
      policies: [
        // A function that returns undefined leaves the request to the other policies. An IPv6 client has a network of
        // addresses, of which ipKey makes one key.
        { name: 'guests', quota: perMinute(10), key: (req) => (account(req) ? undefined : ipKey(req.ip)) },
        { name: 'rate', quota: (req) => planOf(req).rate, key: (req) => account(req)?.id },
        {
          name: 'volume',
          quota: (req) => planOf(req).volume,
          key: (req) => account(req)?.id,
          // Exports cost by the row, known only when they are done: a hundred are taken, and corrected afterwards.
          cost: (req) => (req.path === '/export' ? 100 : 1),
          settle: (res) => Number(res.getHeader('x-rows') ?? 1),
        },
      ],
      // What failed on our side is not on the bill.
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
