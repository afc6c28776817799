import { leanRateLimit, type Mount, type NeutralOptions, sendTo, testAdapter } from '@spillway/conformance'
import { describe, test } from 'vitest'
import { decisionOf, rateLimit } from '../src/index.ts'
import * as lean from '../src/lean.ts'
import { type Host, hosts, type Middleware } from './hosts.ts'

type LimitOf = (options: NeutralOptions, besides: readonly string[]) => ReturnType<typeof rateLimit>

const mountIn =
  (host: Host, limitOf: LimitOf): Mount =>
  async (options, { timeout, inner, onHandled, besides, limited }) => {
    const expire: Middleware = (_req, res, next) => {
      void timeout.then(() => {
        res.statusCode = 503
        res.end()
      })
      next()
    }
    const limits = [options, ...inner].map((each) => limited(limitOf(each, besides)))
    return sendTo(
      await host([expire, ...(limits as Middleware[])], (req, res) => {
        onHandled()
        res.setHeader('Content-Type', 'application/json')
        res.end(req.method === 'HEAD' ? undefined : JSON.stringify({ rateLimit: decisionOf(req) }))
      }),
    )
  }

describe.each(Object.entries(hosts))('in %s', (_, host) => {
  testAdapter(test, mountIn(host, rateLimit))
})

describe('lean', () => {
  const [host] = Object.values(hosts) as [Host]
  testAdapter(test, mountIn(host, leanRateLimit(lean) as LimitOf))
})
