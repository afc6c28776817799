import { perMinute, rateLimiter } from '@spillway/memory'
import { describe, expect, test } from 'vitest'
import { type AdminOptions, adminHandler } from '../src/index.ts'
import { setUp } from './admin.ts'

describe('who may use it', () => {
  test.each<[string, unknown]>([
    ['false', () => false],
    ['a promise of false', async () => false],
    ['a truthy value that is not true', () => 'yes'],
    ['a promise of an object', async () => ({ admin: true })],
    ['nothing', () => undefined],
    [
      'an error',
      () => {
        throw new Error('no session for 203.0.113.66')
      },
    ],
    ['a rejection', () => Promise.reject(new Error('no session for 203.0.113.66'))],
  ])('no request, if authorize returns %s', async (_, authorize) => {
    const { admin, get, post, limiter, warnings } = await setUp({ authorize: authorize as AdminOptions['authorize'] })
    for (const query of ['', '?api=state', '?api=keys&policy=api']) expect((await get(query)).status).toBe(403)
    expect((await post({ policy: 'api', key: '203.0.113.66', confirm: true })).status).toBe(403)
    expect((await admin(new Request('https://app.example/'))).status).toBe(403)
    expect(await limiter.peek('203.0.113.66')).toMatchObject({ remaining: 0 })
    expect(warnings.join()).not.toContain('203.0.113.66')
  })

  test('is built only with authorize, and with options that it knows', async () => {
    const limiters = [rateLimiter({ name: 'api', quota: perMinute(1) })]
    const authorize = () => true
    expect(() => adminHandler({ limiters } as never)).toThrow('authorize must be a function')
    expect(() => adminHandler({ limiters, authorise: authorize } as never)).toThrow('Did you mean "authorize"?')
    expect(() => adminHandler({ limiters, authorize: true } as never)).toThrow('got true')
    expect(() => adminHandler({ limiters: [], authorize })).toThrow('one limiter or more')
    expect(() => adminHandler({ limiters: [{}], authorize } as never)).toThrow('built by rateLimiter')
    expect(() => adminHandler({ limiters: [...limiters, ...limiters], authorize })).toThrow(
      'two policies are named "api"',
    )
    expect(() => adminHandler({ limiters, authorize, secret: undefined } as never)).toThrow('secret must be text')
  })
})
