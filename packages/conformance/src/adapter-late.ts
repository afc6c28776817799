import assert from 'node:assert/strict'
import { leakyBucket, perMinute, type Quota, rateLimiter, type Store } from '@spillway/core'
import { fakeClock } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import type { Mount, NeutralOptions } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** A promise, and the function that resolves it. */
function signalled(): readonly [promise: Promise<void>, resolve: () => void] {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return [promise, resolve]
}

/** A store whose first call waits to be released. Promises resolve when its first and its second call arrive. */
function heldStore() {
  const inner = modelStore(fakeClock())
  const [released, release] = signalled()
  const [asked, onAsked] = signalled()
  const [askedAgain, onAskedAgain] = signalled()
  let calls = 0
  const take: Store['take'] = async (ops, at) => {
    const first = ++calls === 1
    if (first) {
      onAsked()
      await released
    }
    const taken = inner.takeSync(ops, at)
    if (!first) onAskedAgain()
    return taken
  }
  const store: Store = { take, delete: inner.delete }
  return { store, asked, release, askedAgain }
}

const NAME = 'late'
const KEY = 'ann'
const QUOTA = /* @__PURE__ */ made(() => perMinute(10))

/** The reason that a response is over before its verdict arrives. */
type End = 'something else has answered' | 'the client has left' | 'the client of a pipelined request has left'

// Reproduces a bug: Node closes only the response whose turn it is on a connection. The clients of those behind it did not
// leave, so that they were never settled, and never left a queue.
const LEFT = ['the client has left', 'the client of a pipelined request has left'] as const

/** Tests verdicts that arrive after the response is over: units are refunded, and nothing else happens. */
export function testLateVerdicts(test: TestFunction, mount: Mount): void {
  /** Sends a request whose response is over before its verdict; `pending` resolves when the limiter waits for it. */
  const sendLate = async (
    end: End,
    options: Partial<NeutralOptions>,
    store: Store,
    pending: Promise<void>,
    inner: readonly NeutralOptions[] = [],
  ) => {
    let handled = 0
    const [timeout, expire] = signalled()
    const timed = end === 'something else has answered'
    // What a verdict has consumed too late is refunded by the feature for settling.
    const besides = ['settling']
    const scene = { timeout, inner, onHandled: () => void handled++, besides, limited: <T>(limit: T) => limit }
    const all = { quota: QUOTA, name: NAME, key: () => KEY, deadline: '20s', store, ...options } as NeutralOptions
    const send = await mount(all, scene)
    const client = new AbortController()
    const pipelined = end === 'the client of a pipelined request has left'
    const sent = send(timed ? {} : { signal: client.signal, pipelined }).catch(() => undefined)
    await pending
    if (timed) expire()
    else client.abort()
    const response = await sent
    const reported = response && [response.status, response.headers['ratelimit'], response.headers['retry-after']]
    assert.deepEqual(reported, timed ? [503, undefined, undefined] : undefined)
    return () => handled
  }

  /** The remaining units of the key, after pending refunds. */
  const leftIn = async (store: Store, quota: Quota = QUOTA, name: string = NAME): Promise<number> => {
    await new Promise<void>((resolve) => setImmediate(resolve))
    return (await rateLimiter({ name, quota, store }).peek(KEY)).remaining
  }

  for (const end of ['something else has answered', ...LEFT] as const) {
    test(`refunds units if ${end} before the store answers`, async () => {
      const { store, asked, release, askedAgain } = heldStore()
      const handled = await sendLate(end, { cost: 4 }, store, asked)
      release()
      await askedAgain
      assert.deepEqual([await leftIn(store), handled()], [10, 0])
    })

    test(`takes nothing if ${end} before a cost is known`, async () => {
      const [asked, onAsked] = signalled()
      const [released, release] = signalled()
      const store = modelStore(fakeClock())
      const cost = async (): Promise<number> => {
        onAsked()
        await released
        return 4
      }
      const handled = await sendLate(end, { cost }, store, asked)
      release()
      assert.deepEqual([await leftIn(store), handled()], [10, 0])
    })

    // No enforced policy counts such a request, so that no other verdict returns its units.
    test(`returns the units of a policy that only watches if ${end}`, async () => {
      const [asked, onAsked] = signalled()
      const [released, release] = signalled()
      const store = modelStore(fakeClock())
      const skip = async (): Promise<boolean> => {
        onAsked()
        await released
        return false
      }
      const handled = await sendLate(end, { mode: 'shadow', cost: 4, skip, settle: () => 3 }, store, asked)
      release()
      assert.deepEqual([await leftIn(store, QUOTA, `${NAME} (shadow)`), handled()], [10, 0])
    })

    test(`sends no denial if ${end} before the store denies`, async () => {
      const { store, asked, release } = heldStore()
      const handled = await sendLate(end, { cost: 11 }, store, asked)
      release()
      assert.deepEqual([await leftIn(store), handled()], [10, 0])
    })

    test(`throws no error if ${end} before the store fails`, async () => {
      const { store, asked, release } = heldStore()
      const failing: Store = { ...store, take: async (...args) => store.take(...args).then(fail) }
      const handled = await sendLate(end, { onStoreError: 'throw' }, failing, asked)
      release()
      await new Promise<void>((resolve) => setImmediate(resolve))
      assert.equal(handled(), 0)
    })
  }

  for (const end of LEFT) {
    test(`settles a request once, and refunds nothing, if ${end} after it was allowed`, async () => {
      const [counted, { store: held, asked, release, askedAgain }] = [modelStore(fakeClock()), heldStore()]
      const [settled, onSettled] = signalled()
      let settlements = 0
      const settle = (): number => {
        settlements++
        onSettled()
        return 2
      }
      // The request is behind the first limiter, and waits in the second.
      const inner = { quota: QUOTA, name: 'inner', key: () => KEY, deadline: '20s', store: held } as NeutralOptions
      const handled = await sendLate(end, { cost: 4, settle, refundIf: () => true }, counted, asked, [inner])
      release()
      await settled
      await askedAgain
      assert.deepEqual([await leftIn(counted), settlements, handled()], [8, 1, 0])
      assert.equal((await rateLimiter({ name: 'inner', quota: QUOTA, store: held }).peek(KEY)).remaining, 10)
    })

    test(`refunds the reservation of a queued request if ${end}`, async () => {
      const { store, asked, release, askedAgain } = heldStore()
      release()
      const quota = leakyBucket({ limit: 1, per: '1h', queue: 2 })
      const handled = await sendLate(end, { quota, cost: 2 }, store, asked)
      await askedAgain
      assert.deepEqual([await leftIn(store, quota), handled()], [3, 0])
    })
  }
}

function fail(): never {
  throw new Error('connection lost')
}
