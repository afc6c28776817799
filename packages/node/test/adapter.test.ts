import { sendTo, testAdapter } from '@spillway/conformance'
import { describe, test } from 'vitest'
import { decisionOf, rateLimit } from '../src/index.ts'
import { hosts, type Middleware } from './hosts.ts'

describe.each(Object.entries(hosts))('in %s', (_, host) => {
  testAdapter(
    test,
    async (options, { timeout, inner, onHandled, limited }) => {
      const expire: Middleware = (_req, res, next) => {
        void timeout.then(() => {
          res.statusCode = 503
          res.end()
        })
        next()
      }
      const limits = [options, ...inner].map((each) => limited(rateLimit(each)))
      return sendTo(
        await host([expire, ...(limits as Middleware[])], (req, res) => {
          onHandled()
          res.setHeader('Content-Type', 'application/json')
          res.end(req.method === 'HEAD' ? undefined : JSON.stringify({ rateLimit: decisionOf(req) }))
        }),
      )
    },
    // Hosts may route by several readings of the path, and may have parsed the query themselves: both are read.
    { mostVisits: 6 },
  )
})
