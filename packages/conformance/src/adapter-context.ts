import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { perMinute, type Store, type Taken } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { Mount, NeutralOptions } from './mount.ts'
import type { TestFunction } from './runner.ts'

const REQUESTS = 4

function canEnter(contexts: AsyncLocalStorage<number>): boolean {
  try {
    contexts.run(-1, () => contexts.enterWith(-1))
    return true
  } catch {
    return false
  }
}

/** A store that answers calls only together, as remote stores coalesce them: all in the context of the last one. */
function batchingStore(): Store {
  const model = modelStore(fakeClock())
  const waiting: (() => void)[] = []
  const take: Store['take'] = (ops, at) => {
    const taken = model.takeSync(ops, at)
    if (ops.some(({ step }) => step.increment <= 0)) return Promise.resolve(taken)
    return new Promise<readonly Taken[]>((resolve) => {
      waiting.push(() => resolve(taken))
      if (waiting.length === REQUESTS) for (const answer of waiting.splice(0)) answer()
    })
  }
  return { take, delete: model.delete }
}

/** Tests in which asynchronous context, as of `AsyncLocalStorage`, functions of the options are called. */
export function testContexts(test: TestFunction, mount: Mount): void {
  // Reproduces a bug: the context was empty, or that of another request. Servers report the end of a response in any.
  test('calls each function of the options in the context of its request', async () => {
    const contexts = new AsyncLocalStorage<number>()
    // A server's requests enter their contexts. Workers cannot enter one: there, requests run in that of their caller.
    const enters = canEnter(contexts)
    const seen: Record<string, number[]> = {}
    let [requests, missing] = [0, 4 * REQUESTS]
    let onAllSeen = (): void => {}
    const allSeen = new Promise<void>((resolve) => {
      onAllSeen = resolve
    })
    const see =
      <T>(name: string, returned: T) =>
      (): T => {
        seen[name] ??= []
        seen[name].push(contexts.getStore() ?? 0)
        if (--missing === 0) onAllSeen()
        return returned
      }
    const options = {
      skip: () => {
        if (enters) contexts.enterWith(++requests)
        return false
      },
      key: () => String(contexts.getStore()),
      quota: perMinute(1),
      cost: () => (contexts.getStore() ?? 0) % 2 || 2,
      maxCost: 2,
      refundIf: see('refundIf', false),
      countIf: see('countIf', true),
      settle: see('settle', 1),
      onDecision: see('onDecision', undefined),
      onDenied: see('onDenied', undefined),
      onThreshold: see('onThreshold', undefined),
      store: batchingStore(),
      deadline: '20s',
    } satisfies NeutralOptions
    const scene = {
      timeout: new Promise<void>(() => {}),
      inner: [],
      onHandled: () => {},
      besides: [],
      limited: <T>(limit: T) => limit,
    }
    const send = await mount(options, scene)
    const sendIn = (context: number): Promise<unknown> => contexts.run(context, () => send().catch(() => {}))
    await Promise.all(Array.from({ length: REQUESTS }, (_, i) => sendIn(enters ? -1 : i + 1)))
    await allSeen
    for (const all of Object.values(seen)) all.sort()
    const allowed = [1, 3]
    assert.deepEqual(seen, {
      onDecision: [1, 2, 3, 4],
      onDenied: [2, 4],
      onThreshold: [1, 1, 3, 3],
      refundIf: allowed,
      countIf: allowed,
      settle: allowed,
    })
  })
}
