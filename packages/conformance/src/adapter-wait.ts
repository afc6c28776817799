import assert from 'node:assert/strict'
import { type Quota, type SyncStore, slidingLog, slidingWindow, tokenBucket } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { modelStore } from './model.ts'
import type { NeutralOptions, Send } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** A store whose clock advances by `millis` after each denial, and its number of denials. */
function movingOn(millis: number): { store: SyncStore; denials: () => number } {
  const clock = fakeClock()
  const model = modelStore(clock)
  let denials = 0
  const takeSync: SyncStore['takeSync'] = (ops, at) => {
    const taken = model.takeSync(ops, at)
    if (taken.some(({ allowed }) => !allowed)) {
      denials++
      clock.advance(millis)
    }
    return taken
  }
  const store: SyncStore = {
    takeSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: model.delete,
    deleteSync: model.deleteSync,
  }
  return { store, denials: () => denials }
}

/** Tests requests that `maxWait` delays, for quotas of every algorithm. */
export function testWaiting(test: TestFunction, mount: (options: NeutralOptions) => Send | Promise<Send>): void {
  const quotas: Readonly<Record<string, Quota>> = {
    tokenBucket: tokenBucket({ limit: 1, per: 20 }),
    slidingWindow: slidingWindow({ limit: 1, window: 20 }),
    slidingLog: slidingLog({ limit: 1, window: 20 }),
  }
  for (const [name, quota] of Object.entries(quotas)) {
    // Waits in real time, 40 ms at most, because the test includes the server's timer.
    test(`delays a request until it fits, up to maxWait: ${name}`, async () => {
      const { store } = movingOn(40)
      const send = await mount({ quota, maxWait: '1s', store })
      assert.deepEqual([(await send()).status, (await send()).status], [200, 200])
    })
  }

  test('denies a request at once that would wait for longer than maxWait, in a window', async () => {
    const { store, denials } = movingOn(0)
    const send = await mount({ quota: slidingLog({ limit: 1, window: '1h' }), maxWait: '1m', store })
    await send()
    const denied = await send()
    assert.deepEqual([denied.status, denied.headers['retry-after'], denials()], [429, '3600', 1])
  })
}
