import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { unhandledRejections } from '../../../test/unhandled.ts'
import type { Verdict } from '../src/http/index.ts'
import { forwardingOf, quota, setUp, turn, warn } from './function-options.ts'

const unhandled = unhandledRejections()

describe('a function that fails', () => {
  const failing = async (): Promise<never> => {
    throw new Error('no database')
  }

  test.each(['skip', 'match', 'key', 'quota', 'cost', 'partition', 'claims'])('fails the request: %s', async (name) => {
    for (const fail of [
      failing,
      () => {
        throw new Error('no database')
      },
    ]) {
      const { send, left } = setUp({ quota, key: 'claim:sub', claims: () => ({ sub: 'k' }), [name]: fail })
      await expect(send()).rejects.toThrow('no database')
      expect(await left('k')).toBe(100)
    }
  })

  test('takes nothing of other policies, and no rejection is left unhandled, however many fail', async () => {
    const { send, left } = setUp({
      policies: [
        { name: 'fine', quota },
        { name: 'one', quota, key: failing },
        { name: 'two', quota, cost: failing },
        {
          name: 'three',
          quota,
          key: () => {
            throw new Error('at once')
          },
        },
      ],
    })
    await expect(send()).rejects.toThrow()
    await turn()
    expect([unhandled, await left('ann', 'fine')]).toEqual([[], 100])
  })
})

test.each<[string, () => unknown]>([
  ['a promise', () => Promise.reject(new Error('a'))],
  ['a thenable', () => forwardingOf(Promise.reject(new Error('b')))],
  ['a promise of another realm', () => runInNewContext('Promise.reject(new Error("c"))')],
])('onDecision may return %s: its failure is reported, and affects no request', async (_, onDecision) => {
  const { send } = setUp({ quota, onDecision })
  expect((await send()).denial).toBeUndefined()
  await turn()
  expect(warn).toHaveBeenCalledWith(expect.stringMatching(/onDecision threw: [abc]/))
  expect(unhandled).toEqual([])
})

describe('a function that has not answered when its client goes away', () => {
  test.each(['skip', 'key', 'cost', 'claims'])(
    '%s: the request ends, and takes nothing, whatever comes later',
    async (name) => {
      for (const end of ['resolve', 'reject'] as const) {
        const ends: Record<string, (value: never) => void> = {}
        const promise = new Promise<never>((resolve, reject) => Object.assign(ends, { resolve, reject }))
        const { guard, left } = setUp({ quota, key: 'claim:sub', claims: () => ({ sub: 'k' }), [name]: () => promise })
        const gone = new Set<() => void>()
        const verdict = guard({ gone }) as Promise<Verdict>
        await turn()
        for (const listener of gone) listener()
        expect((await verdict).denial?.status).toBe(499)
        ends[end]?.((name === 'claims' ? { sub: 'k' } : name === 'key' ? 'k' : 1) as never)
        await turn()
        expect([await left('k'), unhandled, gone.size]).toEqual([100, [], 0])
      }
    },
  )
})
