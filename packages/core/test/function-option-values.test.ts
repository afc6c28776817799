import { describe, expect, test } from 'vitest'
import { QuotaError } from '../src/index.ts'
import { quota, setUp, warn } from './function-options.ts'

describe('what a function returns is checked', () => {
  test.each<[option: string, value: unknown, message: string]>([
    ['cost', Number.NaN, 'cost must return a number of units, more than 0; got NaN.'],
    ['cost', 0, 'got 0.'],
    ['cost', -1, 'got -1.'],
    ['cost', '5', 'got "5".'],
    ['cost', 5n, 'got 5n.'],
    ['cost', {}, 'got an object.'],
    ['cost', undefined, 'got undefined.'],
    ['key', 5, 'key must return a string or undefined; got 5.'],
    ['key', null, 'got null.'],
    [
      'quota',
      100,
      'what the quota function of policy "default" returns must be built by perMinute(100) or one of its siblings; got 100.',
    ],
    ['quota', undefined, 'got undefined.'],
    ['quota', { kernel: 'x' }, 'got an object.'],
    ['match', undefined, 'match must return true or false; got undefined.'],
    ['match', 'yes', 'got "yes".'],
    ['skip', 'yes', 'skip must return true or false; got "yes".'],
    ['skip', {}, 'got an object.'],
    ['claims', 'token', 'claims must return an object, or undefined; got "token".'],
    ['claims', 1, 'got 1.'],
  ])('%s: %s is rejected', async (option, value, message) => {
    for (const say of [() => value, async () => value]) {
      const { send } = setUp({ quota, key: 'claim:sub', claims: () => ({}), [option]: say })
      const error = await send().then(
        () => undefined,
        (error: unknown) => error,
      )
      expect(error).toBeInstanceOf(QuotaError)
      expect((error as Error).message).toContain(message)
    }
  })

  test('what settle returns is rounded up', async () => {
    const { send, left } = setUp({ quota, cost: 50, settle: ({ tokens }) => tokens })
    await (await send()).after?.(200, { tokens: 8.5 })
    expect(await left('ann')).toBe(91)
  })

  test('skip and refundIf may return nothing, which is false: that never turns a limit off', async () => {
    const { send, left } = setUp({ quota, skip: () => undefined as never, refundIf: () => undefined as never })
    await (await send()).after?.(200, { tokens: 0 })
    expect(await left('ann')).toBe(99)
  })

  test('refundIf that returns neither yes nor no refunds nothing, and is reported', async () => {
    const { send, left } = setUp({ quota, refundIf: () => 'yes' as never })
    await (await send()).after?.(200, { tokens: 0 })
    expect(await left('ann')).toBe(99)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('refundIf must return true or false; got "yes".'))
  })
})

test.each([
  ['an object', { id: 1 }],
  ['a list', ['a', 'b']],
  ['a promise', Promise.resolve('ann')],
  ['a function', () => 'ann'],
  ['a symbol', Symbol('ann')],
])('a claim that is %s is no key: all users would have the same', async (_, sub) => {
  const { send } = setUp({ quota, key: 'claim:sub', claims: () => ({ sub }) })
  await expect(send()).rejects.toThrow('claim "sub" must be text, a number, true or false')
})

test('a claim that is undefined is an empty key, as if it was missing', async () => {
  const { send, left } = setUp({ quota, key: ['claim:sub', 'claim:org'], claims: () => ({ sub: undefined, org: 'a' }) })
  await send()
  expect(await left('0:1:a')).toBe(99)
})

test('a getter of a class is no claim: the key would be empty for all users', async () => {
  class User {
    get id(): string {
      return 'ann'
    }
  }
  const claims = () => new User() as unknown as Record<string, unknown>
  await expect(setUp({ quota, key: 'claim:id', claims }).send()).rejects.toThrow('claim "id" is inherited')
  const { send, left } = setUp({ quota, key: ['claim:constructor', 'claim:toString'], claims })
  await send()
  expect(await left('0:0:')).toBe(99)
})
