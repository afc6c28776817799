import assert from 'node:assert/strict'
import { perMinute, type Store, slidingLog, type Take, type Taken } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { START } from './clock.ts'
import type { TestFunction } from './runner.ts'
import { awkwardKeys, consume, peek } from './takes.ts'

/** Tests the contract of `delete` and `deleteAll`. */
export function testDeletion(test: TestFunction, makeStore: () => Store | Promise<Store>): void {
  test('deletes the requested states, and no others', async () => {
    const store = await makeStore()
    const both = [consume('a', 10), consume('*', 10), consume('a', 10, perMinute(10), 'q')]
    await store.take(both, START)
    // Row 30 of the peers' bugs: a reset by pattern deletes the keys of other users.
    await store.delete([{ policy: 'p', key: '*' }])
    const [star] = await store.take([consume('*', 10)], START)
    const others = await store.take([peek('a'), peek('a', perMinute(10), 'q')], START)
    assert.deepEqual([star?.allowed, ...others.map(({ allowed }) => allowed)], [true, false, false])
    await store.delete([])
    await store.delete([{ policy: 'p', key: 'never seen' }])
  })

  test('returns how many deleted states were stored', async () => {
    const store = await makeStore()
    const log = slidingLog({ limit: 10, window: '1m' })
    const keys = [
      { policy: 'p', key: 'a' },
      { policy: 'q', key: 'a' },
      { policy: 'p', key: 'full again' },
      { policy: 'p', key: 'denied' },
      { policy: 'p', key: 'never seen' },
    ]
    assert.equal(await store.delete(keys), 0)
    await store.take([consume('a'), consume('a', 1, log, 'q'), consume('full again')], START)
    const refund = stepFor(perMinute(10), 'refund', 1)
    await store.take([{ policy: 'p', key: 'full again', step: refund }], START)
    await store.take([consume('denied', 11)], START)
    await store.take([peek('never seen')], START)
    assert.equal(await store.delete(keys), 3)
    assert.equal(await store.delete(keys), 0)
    await store.take([consume('a')], START)
    assert.equal(await store.delete(keys), 1)
  })

  test('deletes all states of a policy, and no others, if it can list them', async () => {
    const store = await makeStore()
    if (!store.deleteAll) return
    const policies = ['p', 'default', 'p*', 'a/b', 'a%2Fb', '#p', '[p]', 'p (shadow)']
    const keys = awkwardKeys.filter(({ policy }) => policy === 'p').map(({ key }) => key)
    const opsOf = (policy: string): readonly Take[] => keys.map((key) => consume(key, 10, perMinute(10), policy))
    const countOf = async (policy: string): Promise<number> => {
      const answers: Taken[] = []
      for (const op of opsOf(policy)) answers.push(...(await store.take([{ ...op, step: peek('').step }], START)))
      return answers.filter(({ allowed }) => !allowed).length
    }
    for (const policy of policies) for (const op of opsOf(policy)) await store.take([op], START)
    assert.equal(await store.deleteAll(['never seen']), 0)
    for (const [i, policy] of policies.slice(0, 5).entries()) {
      assert.equal(await store.deleteAll([policy]), keys.length, policy)
      const left: number[] = []
      for (const each of policies) left.push(await countOf(each))
      assert.deepEqual(
        left,
        policies.map((_, j) => (j > i ? keys.length : 0)),
        policy,
      )
    }
    assert.equal(await store.deleteAll(policies), 3 * keys.length)
    assert.equal(await store.deleteAll(policies), 0)
    const [again] = await store.take([consume('a', 10)], START)
    assert.equal(again?.allowed, true)
  })
}
