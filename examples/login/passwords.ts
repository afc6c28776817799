import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'

const SALT = randomBytes(16)
const hash = (password: string): Buffer => scryptSync(password, SALT, 32, { N: 1024 }) // far more in a real app

const users = new Map([['alice', hash('correct horse')]])
// Whoever guesses at names that do not exist must not see it by the time that it takes.
const nobody = hash(randomBytes(16).toString('hex'))

export const isRight = (user: string, password: string): boolean =>
  timingSafeEqual(users.get(user) ?? nobody, hash(password))

const SECRET = randomBytes(32)
const mark = (user: string): string => createHmac('sha256', SECRET).update(user).digest('base64url')

/** What a browser shows from which a user has logged in before: who that was, and our mark. */
export const deviceOf = (user: string): string => `${encodeURIComponent(user)}.${mark(user)}`

/** Reports whether a browser has shown itself as one of the user's. */
export const isDeviceOf = (user: string, cookies: string): boolean =>
  cookies.split(/; */).includes(`device=${deviceOf(user)}`)
