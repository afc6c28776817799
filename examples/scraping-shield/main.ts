// Protects a site against scraping: visitors notice nothing, and a scraper is slow on every address that it uses.

import { pathToFileURL } from 'node:url'
import { ipKey, memoryStore, perDay, perHour, perMinute, rateLimit, rateLimiter } from '@spillway/express'
import express, { type Express, type Request } from 'express'

/** The network of an address: a hundred neighbouring addresses count as one visitor. */
export function networkOf(address: string | undefined): string {
  const key = ipKey(address, { ipv6Prefix: 48 })
  return key.includes(':') ? key : key.split('.').slice(0, 3).join('.')
}

/** Members have a verified session, and are not limited. */
const isMember = (req: Request): boolean => req.res?.locals.member === true

/** A shop. `members` are the sessions that are signed in. */
export function shopOf(members: ReadonlySet<string>, store = memoryStore()): Express {
  const app = express()
  app.set('trust proxy', 1)

  app.use((req, res, next) => {
    res.locals.member = members.has(/(?:^|; )session=(\w+)/.exec(req.get('cookie') ?? '')?.[1] ?? '')
    next()
  })

  // A client that follows a link that is invisible to people is charged a day of pages.
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
        // People need two seconds for a page at least, and do not read for hours.
        { name: 'visitors', quota: pages, problem: 'abnormal-usage-detected' },
        { name: 'hours', quota: perHour(600) },
        // Scrapers rent addresses by the network.
        {
          name: 'networks',
          quota: perMinute(300),
          key: (req) => networkOf(req.ip),
          problem: 'abnormal-usage-detected',
        },
        // Searches are expensive and popular with scrapers: deeper pages cost more.
        {
          name: 'searches',
          quota: perDay(500),
          match: { path: '/search' },
          // The parameter may be invalid, or a negative number.
          cost: (req) => 1 + Math.floor(Math.max(0, Number(req.query.page) || 0) / 10),
          maxCost: 100,
        },
      ],
      headers: false, // do not report the limits to scrapers
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
