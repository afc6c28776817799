import { START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { failing, newPool, pidOf, pool, take, unitsOf } from './failures.ts'
import { unhurried } from './unhurried.ts'

describe('retryable errors are retried internally', () => {
  test.each([
    ['40001', 'could not serialize access due to concurrent update'],
    ['40P01', 'deadlock detected'],
    ['40003', 'result is ambiguous'],
    ['XX000', 'Query error: Restart read required'],
    ['XX000', 'Operation expired: Transaction aborted: kAborted'],
  ])('%s: %s', async (code, message) => {
    const one = newPool(1)
    const pid = await pidOf(one)
    await failing(5, code, message)
    const answers = await Promise.all(Array.from({ length: 20 }, () => take(unhurried(one), 'a', START)))
    expect(answers.every(([taken]) => taken?.allowed)).toBe(true)
    expect(await unitsOf('a')).toBe(20)
    expect(await pidOf(one)).toBe(pid)
    await one.end()
  })

  // Reproduces a bug: a pooler or a server in another language closes a connection with a severity other than "FATAL";
  // class 57P is the same in all. Such a connection was used again.
  test.each([
    ['57P01', false],
    ['23514', true],
  ])('after %s, the connection is used again: %s', async (code, again) => {
    const one = newPool(1)
    const pid = await pidOf(one)
    await failing(1, code, 'terminating connection')
    await expect(take(unhurried(one), 'a', START)).rejects.toThrow(code)
    expect((await pidOf(one)) === pid).toBe(again)
    await one.end()
  })

  test('and the connection keeps no listeners', async () => {
    const one = newPool(1)
    const listeners = async (): Promise<number> => {
      const client = await one.connect()
      client.release()
      return client.listenerCount('error')
    }
    const before = await listeners()
    await failing(5, '40001')
    await take(unhurried(one), 'a', START)
    expect(await listeners()).toBe(before)
    await one.end()
  })

  test('and other errors are not', async () => {
    await failing(1, 'XX000', 'cache lookup failed')
    await expect(take(unhurried(pool), 'a', START)).rejects.toThrow('cache lookup failed (XX000)')
  })
})
