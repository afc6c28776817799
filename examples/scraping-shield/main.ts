// A shield against scraping: people notice nothing of it, and a scraper is slow whatever address it comes from.

import { pathToFileURL } from 'node:url'
import { ipKey, memoryStore, perDay, perHour, perMinute, rateLimit, rateLimiter } from '@spillway/express'
import express, { type Express, type Request } from 'express'

/** The network of an address: whoever rents a hundred neighbouring addresses is one visitor here. */
export function networkOf(address: string | undefined): string {
  const key = ipKey(address, { ipv6Prefix: 48 })
  return key.includes(':') ? key : key.split('.').slice(0, 3).join('.')
}

/** Who has signed in is known by the session that we have checked, and browses as he likes. */
const isMember = (req: Request): boolean => req.res?.locals.member === true

/** A shop. `members` tells sessions that are signed in. */
export function shopOf(members: ReadonlySet<string>, store = memoryStore()): Express {
  const app = express()
  app.set('trust proxy', 1)

  app.use((req, res, next) => {
    res.locals.member = members.has(/(?:^|; )session=(\w+)/.exec(req.get('cookie') ?? '')?.[1] ?? '')
    next()
  })

  // Who follows a link that no person sees owes a day of pages.
  const pages = perMinute(30, { burst: 60 })
  const visitors = rateLimiter({ name: 'visitors', quota: pages, store })
  app.get('/catalogue/all', async (req, res) => {
    await visitors.charge(ipKey(req.ip), 24 * 60 * 30)
    res.status(404).end()
  })

  app.use(
    rateLimit({
      store,
      skip: isMember,
      policies: [
        // People read a page in two seconds at the fastest, and not for hours.
        { name: 'visitors', quota: pages, problem: 'abnormal-usage-detected' },
        { name: 'hours', quota: perHour(600) },
        // Rented addresses are rented by the network.
        {
          name: 'networks',
          quota: perMinute(300),
          key: (req) => networkOf(req.ip),
          problem: 'abnormal-usage-detected',
        },
        // Searches are what is expensive, and what scrapers like best: by the page that is asked for.
        {
          name: 'searches',
          quota: perDay(500),
          match: { path: '/search' },
          // What a client writes may be no number, or a negative one.
          cost: (req) => 1 + Math.floor(Math.max(0, Number(req.query.page) || 0) / 10),
          maxCost: 100,
        },
      ],
      headers: false, // who scrapes need not be told how fast he may
    }),
  )

  app.get('/product/:id', (req, res) => {
    res.send(`product ${req.params.id}\n`)
  })
  app.get('/search', (_req, res) => {
    res.send('found\n')
  })
  return app
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  shopOf(new Set(['secret'])).listen(3000, () => console.log('http://localhost:3000/product/1'))
}
