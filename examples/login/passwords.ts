import { createHmac, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'

const SALT = randomBytes(16)
const hash = (password: string): Buffer => scryptSync(password, SALT, 32, { N: 1024 }) // far more in a real app

const users = new Map([['alice', hash('correct horse')]])
// An unknown user name must take as long to check as a known one.
const nobody = hash(randomBytes(16).toString('hex'))

export const isRight = (user: string, password: string): boolean =>
  timingSafeEqual(users.get(user) ?? nobody, hash(password))

const SECRET = randomBytes(32)
const mark = (user: string): string => createHmac('sha256', SECRET).update(user).digest('base64url')

/** The device cookie of a user who has logged in: the name and a signature. */
export const deviceOf = (user: string): string => `${encodeURIComponent(user)}.${mark(user)}`

/** Whether the cookies contain the user's device cookie. */
export const isDeviceOf = (user: string, cookies: string): boolean =>
  cookies.split(/; */).includes(`device=${deviceOf(user)}`)
