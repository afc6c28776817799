// A login that is not guessed at, and whose owner is not locked out by those who try.

import { pathToFileURL } from 'node:url'
import { perHour, perMinute, rateLimit, tokenBucket } from '@spillway/express'
import express, { type Request } from 'express'
import { deviceOf, isDeviceOf, isRight } from './passwords.ts'

export const app = express()

/** One way to write each name: else ' Alice' has other tries than 'alice'. */
const nameIn = ({ body }: Request): string =>
  String(body?.user ?? '')
    .trim()
    .toLowerCase()
    .slice(0, 64)

const isKnown = (req: Request): boolean => isDeviceOf(nameIn(req), req.get('cookie') ?? '')

// Before the body is read: one address, or household, tries a few names, not thousands.
app.use('/login', rateLimit({ name: 'address', quota: perMinute(20, { burst: 30 }) }))

app.post(
  '/login',
  express.json({ limit: '1kb' }),
  rateLimit({
    policies: [
      // Strangers share five failures at an account, of which one comes back every three minutes.
      {
        name: 'account',
        quota: tokenBucket({ limit: 5, per: '15m' }),
        key: (req) => (isKnown(req) ? undefined : nameIn(req)),
      },
      // A browser that has logged in before has tries of its own, which strangers cannot use up.
      { name: 'device', quota: perHour(20), key: (req) => (isKnown(req) ? nameIn(req) : undefined) },
    ],
    // Taken before the password is looked at, so that guesses that race each other are counted too; given back if right.
    refundIf: (status) => status < 400,
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
