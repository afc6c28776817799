import assert from 'node:assert/strict'
import { perMinute, type Store } from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { fakeClock } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import type { Mount, NeutralOptions, NeutralRequest, NeutralResponse, Scene } from './mount.ts'
import type { TestFunction } from './runner.ts'

/** A promise, and the function that resolves it. */
function signalled(): readonly [promise: Promise<void>, resolve: () => void] {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return [promise, resolve]
}

const KEY = 'ann'

const SLOTS = /* @__PURE__ */ made(() => ({ name: 'slots', quota: inFlight(2), key: () => KEY }))

/** A store that tells how many slots are in use, and when that many are left. */
function watchedStore() {
  const inner = modelStore(fakeClock())
  const waiting = new Set<() => void>()
  let releases = 0
  const used = (policy: string): number => {
    const step = { kernel: 'slots', increment: 1, check: 1, limit: 100, ttl: 30e6, id: 0, peek: true } as const
    const [taken] = inner.takeSync([{ policy, key: KEY, step }])
    return (taken as { readonly used: number }).used
  }
  const take: Store['take'] = async (ops, at) => {
    const taken = inner.takeSync(ops, at)
    releases += ops.filter(({ step }) => step.kernel === 'slots' && step.increment < 0).length
    for (const look of waiting) look()
    return taken
  }
  const store: Store = { take, delete: inner.delete }
  /** Resolves when this many slots of a policy are in use. */
  const untilUsed = (count: number, policy = 'slots'): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (used(policy) !== count) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return { store, used, untilUsed, releases: () => releases }
}

/** Tests that a request holds its slots until its response has ended, and that they are released once. */
export function testSlots(test: TestFunction, mount: Mount): void {
  /** Mounts a limiter in front of another one, in which requests stay until they may `go`. */
  const mountSlow = async (options: Partial<NeutralOptions>, scene: Partial<Scene> = {}) => {
    const watched = watchedStore()
    const [gone, go] = signalled()
    const slow: NeutralOptions = {
      name: 'slow',
      quota: perMinute(1_000),
      cost: () => gone.then(() => 1),
      store: modelStore(fakeClock()),
    }
    const send = await mount({ store: watched.store, ...options } as NeutralOptions, {
      timeout: new Promise(() => {}),
      inner: [slow],
      onHandled: () => {},
      besides: ['settling', 'anyQuota', 'stores', 'costs'],
      limited: (limit) => limit,
      ...scene,
    })
    return { ...watched, send, go }
  }
  const statusOf = ({ status }: NeutralResponse): number => status

  test('denies while all slots are in use, without a wait, and allows when a response has ended', async () => {
    const { send, go, untilUsed, used, releases } = await mountSlow(SLOTS)
    const slow = [send(), send()]
    await untilUsed(2)
    const { status, headers, body } = await send()
    assert.deepEqual(
      [status, headers['ratelimit-policy'], headers['ratelimit'], headers['retry-after']],
      [429, '"slots";q=2;qu="concurrent-requests"', '"slots";r=0', undefined],
    )
    const problem = JSON.parse(body) as Record<string, unknown>
    assert.equal(problem['detail'], 'Policy "slots" allows this request again later.')
    assert.ok(!('retry-after-ms' in problem))
    go()
    assert.deepEqual((await Promise.all(slow)).map(statusOf), [200, 200])
    await untilUsed(0)
    assert.equal(releases(), 2)
    const { headers: again } = await send()
    assert.match(String(again['ratelimit']), /^"slots";r=1,/)
    await untilUsed(0)
    assert.equal(used('slots'), 0)
  })

  for (const how of ['leaves', 'leaves, pipelined'] as const) {
    test(`releases the slot of a client that ${how}`, async () => {
      const { send, untilUsed, releases } = await mountSlow(SLOTS)
      const client = new AbortController()
      const request: NeutralRequest = { signal: client.signal, pipelined: how !== 'leaves' }
      const sent = send(request).catch(() => undefined)
      await untilUsed(1)
      client.abort()
      await sent
      await untilUsed(0)
      assert.equal(releases(), 1)
    })
  }

  test('releases the slot of a request that something else has answered', async () => {
    const [timeout, expire] = signalled()
    const { send, untilUsed, releases } = await mountSlow(SLOTS, { timeout })
    const sent = send()
    await untilUsed(1)
    expire()
    assert.equal(statusOf(await sent), 503)
    await untilUsed(0)
    assert.equal(releases(), 1)
  })

  test('releases the slot of a request whose handler throws', async () => {
    const onHandled = (): never => {
      throw new Error('the handler failed')
    }
    const { send, go, untilUsed, releases } = await mountSlow(SLOTS, { onHandled })
    const sent = send().then(statusOf, () => 500)
    await untilUsed(1)
    go()
    assert.equal(await sent, 500)
    await untilUsed(0)
    assert.equal(releases(), 1)
  })

  test('takes slots and units of a rate together, or none', async () => {
    const policies = [
      { name: 'rate', quota: perMinute(3), key: () => KEY },
      { name: 'slots', quota: inFlight(1), key: () => KEY },
    ] as const
    const { send, go, untilUsed } = await mountSlow({ policies })
    const slow = send()
    await untilUsed(1)
    const denied = await send()
    assert.equal(denied.status, 429)
    assert.equal(denied.headers['ratelimit'], '"rate";r=2;t=20, "slots";r=0')
    go()
    assert.equal((await slow).status, 200)
    await untilUsed(0)
    for (const status of [200, 200, 429]) {
      assert.equal((await send()).status, status)
      await untilUsed(0)
    }
  })

  test('holds slots of a policy that only watches, and of a quota that is chosen by request', async () => {
    const { send, go, untilUsed } = await mountSlow({ ...SLOTS, mode: 'shadow' })
    const slow = send()
    await untilUsed(1, 'slots (shadow)')
    go()
    await slow
    await untilUsed(0, 'slots (shadow)')
    const few = inFlight(1)
    const chosen = await mountSlow({ ...SLOTS, quota: () => few })
    const first = chosen.send()
    await chosen.untilUsed(1)
    assert.equal((await chosen.send()).status, 429)
    chosen.go()
    assert.equal((await first).status, 200)
    await chosen.untilUsed(0)
  })
}
