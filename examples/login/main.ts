// Protects a login against brute force, without locking out the owner of the account.

import { pathToFileURL } from 'node:url'
import { penalty, perMinute, rateLimit } from '@spillway/express'
import express, { type Request } from 'express'
import { deviceOf, isDeviceOf, isRight } from './passwords.ts'

export const app = express()

/** The normalized user name: otherwise ' Alice' and 'alice' have separate quotas. */
const nameIn = ({ body }: Request): string =>
  String(body?.user ?? '')
    .trim()
    .toLowerCase()
    .slice(0, 64)

const isKnown = (req: Request): boolean => isDeviceOf(nameIn(req), req.get('cookie') ?? '')

/** Blocks for 15 minutes after 5 wrong passwords, and then for longer each time. */
const blocked = penalty({ after: 5, within: '15m', block: '15m', grow: 2, max: '1d' })

// Before the body is parsed: one address can try a few names, not thousands.
app.use('/login', rateLimit({ name: 'address', quota: perMinute(20, { burst: 30 }) }))

app.post(
  '/login',
  express.json({ limit: '1kb' }),
  rateLimit({
    policies: [
      // All strangers together have 5 wrong passwords per account. Right ones cost nothing.
      { name: 'account', quota: blocked, key: (req) => (isKnown(req) ? undefined : nameIn(req)), countIf: [401] },
      // A browser that has logged in before has its own quota, which strangers cannot use up.
      { name: 'device', quota: blocked, key: (req) => (isKnown(req) ? nameIn(req) : undefined), countIf: [401] },
    ],
  }),
  (req, res) => {
    const user = nameIn(req)
    if (!isRight(user, String(req.body?.password ?? ''))) {
      res.status(401).json({ error: 'wrong name or password' })
      return
    }
    res.cookie('device', deviceOf(user), {
      httpOnly: true,
      sameSite: 'strict',
      maxAge: 365 * 86_400_000,
      encode: String,
    })
    res.json({ welcome: user })
  },
)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  app.listen(3000, () => console.log('http://localhost:3000'))
}
