import assert from 'node:assert/strict'
import { type ListedState, perDay, type Quota, type Store, slidingLog, slidingWindow } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { made } from './made.ts'
import type { TestFunction } from './runner.ts'
import { awkwardKeys, consume } from './takes.ts'

// A store lists by its own clock. On a busy machine a test takes seconds, in which a unit of a minute would be back.
const QUOTA = /* @__PURE__ */ made(() => perDay(10))

const take = (key: string, cost = 1) => consume(key, cost, QUOTA)

/** All states of a policy, by key. */
async function listed(
  store: Required<Pick<Store, 'list'>>,
  policy: string,
  quota: Quota,
): Promise<ReadonlyMap<string, ListedState>> {
  const found = new Map<string, ListedState>()
  for await (const states of store.list(policy, stepFor(quota, 'peek', 1))) {
    for (const state of states) found.set(state.key, state)
  }
  return found
}

/** Tests the contract of `list`, if the store has it. */
export function testListing(test: TestFunction, makeStore: () => Store | Promise<Store>): void {
  const lists = (store: Store): store is Store & Required<Pick<Store, 'list'>> => store.list !== undefined

  test('lists the states of a policy, and no others, if it can list them', async () => {
    const store = await makeStore()
    if (!lists(store)) return
    const quotas: readonly [string, Quota][] = [
      ['p', QUOTA],
      ['p*', slidingWindow({ limit: 10, window: '1d' })],
      ['a/b', slidingLog({ limit: 10, window: '1d' })],
      ['default', perDay(7, { burst: 13 })],
    ]
    assert.equal((await listed(store, 'p', QUOTA)).size, 0)
    const now = (await store.take([take('now')]))[0]?.now as number
    await store.delete([{ policy: 'p', key: 'now' }])
    for (const [policy, quota] of quotas) {
      for (const [i, key] of ['a', '*', 'a:b'].entries()) await store.take([consume(key, i + 1, quota, policy)], now)
    }
    for (const [policy, quota] of quotas) {
      const states = await listed(store, policy, quota)
      assert.deepEqual([...states.keys()].sort(), ['*', 'a', 'a:b'], policy)
      for (const { taken } of states.values()) assert.equal(taken.allowed, true)
    }
  })

  test('lists the result of a peek, and changes nothing by it', async () => {
    const store = await makeStore()
    if (!lists(store)) return
    await store.take([take('used up', 10)])
    await store.take([take('used')])
    for (let i = 0; i < 2; i++) {
      const states = await listed(store, 'p', QUOTA)
      const allowed = ['used up', 'used'].map((key) => states.get(key)?.taken.allowed)
      assert.deepEqual(allowed, [false, true])
    }
    await store.delete([{ policy: 'p', key: 'used' }])
    assert.deepEqual([...(await listed(store, 'p', QUOTA)).keys()], ['used up'])
  })

  test('lists keys as they are, or says that they are digests', async () => {
    const store = await makeStore()
    if (!lists(store)) return
    const keys = awkwardKeys.filter(({ policy }) => policy === 'p').map(({ key }) => key)
    for (const key of keys) await store.take([take(key, 10)])
    const states = [...(await listed(store, 'p', QUOTA)).values()]
    assert.equal(states.length, keys.length)
    for (const { key, isDigest } of states) {
      if (!isDigest) assert.ok(keys.includes(key), `${JSON.stringify(key)} is no key`)
      else assert.ok(key.length <= 100, 'a digest is short')
    }
  })

  test('lists 300 states, each once or more, to a caller that may stop at any time', async () => {
    const store = await makeStore()
    if (!lists(store)) return
    const keys = Array.from({ length: 300 }, (_, i) => `user-${i}`)
    await Promise.all(keys.map((key) => store.take([take(key)])))
    assert.deepEqual([...(await listed(store, 'p', QUOTA)).keys()].sort(), keys.toSorted())
    for await (const states of store.list('p', stepFor(QUOTA, 'peek', 1))) if (states.length > 0) break
    assert.equal((await listed(store, 'p', QUOTA)).size, keys.length)
  })
}
