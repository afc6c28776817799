import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { redisStore } from '../src/index.ts'

// Errors named "for" and "requests", options of the wrappers that redisStore applies.
test.each([
  [
    { denyCache: true },
    "denyCache must be a positive duration, at most 95 years: milliseconds, or a number with ms, s, m, h or d such as '10s'; got true.",
  ],
  [{ lease: 1 }, 'lease must be a whole number, 2 or more; got 1.'],
  [{ lease: true }, 'lease must be a whole number, 2 or more; got true.'],
  [{ lease: { requests: 1 } }, 'requests must be a whole number, 2 or more; got 1.'],
])('redisStore with %j names the option that is wrong', (options, message) => {
  const client = new Redis({ lazyConnect: true })
  expect(() => redisStore(client, options as never)).toThrow(message)
})
