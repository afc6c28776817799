import { env } from 'cloudflare:workers'
import assert from 'node:assert/strict'
import { durableObjectStore, type RateLimitsNamespace } from '@spillway/cloudflare'
import { RateLimits } from '@spillway/cloudflare/object'
import { type TestFunction, testStore } from '@spillway/conformance'
import {
  type Duration,
  perDay,
  perMinute,
  type RateLimiter,
  rateLimiter,
  type Store,
  type Take,
  type Taken,
} from '@spillway/core'
import { decide, stepFor } from '@spillway/core/internal'
import { suiteServer } from '../../../test/services/elsewhere.ts'

// Runs in workerd: the conformance suite, and the tests of this store's objects.

declare global {
  namespace Cloudflare {
    interface Env {
      readonly RATE_LIMITS: RateLimitsNamespace
    }
  }
}

/** The stored names and the alarm of an object. */
interface Look {
  readonly names: readonly string[] | undefined
  readonly alarm: number | null
}

/** An object that reports its stored names, and sweeps, waits or ends on request. */
export class Watched extends RateLimits {
  #held: Promise<void> | undefined
  #release = (): void => {}

  async look(): Promise<Look> {
    const { sql } = this.ctx.storage
    const made = sql.exec("SELECT name FROM sqlite_master WHERE name = 'states'").toArray().length > 0
    const rows = made ? sql.exec<{ name: string }>('SELECT name FROM states').toArray() : undefined
    return { names: rows?.map(({ name }) => name), alarm: await this.ctx.storage.getAlarm() }
  }

  /** Answers no take until `release`, as an object that is far away. */
  hold(): void {
    this.#held = new Promise((resolve) => {
      this.#release = resolve
    })
  }

  release(): void {
    this.#held = undefined
    this.#release()
  }

  override take(...args: Parameters<RateLimits['take']>): readonly Taken[] {
    const taken = this.#held?.then(() => super.take(...args)) ?? super.take(...args)
    // A remote method may return a promise.
    return taken as readonly Taken[]
  }

  /** Lets each write of a policy's states fail, as on a full disk. */
  breakWrites(policy: string): void {
    this.ctx.storage.sql.exec(
      `CREATE TRIGGER IF NOT EXISTS broken BEFORE INSERT ON states WHEN NEW.name LIKE '["${policy}"%'
       BEGIN SELECT RAISE(ABORT, 'disk full'); END`,
    )
  }

  /** Ends the instance, as when the runtime evicts an idle object. The next call starts another. */
  evict(): void {
    this.ctx.abort('evicted')
  }
}

let namespaces = 0

/** A new namespace without states, and the names of the objects that were requested. */
function namespace(): RateLimitsNamespace & { readonly asked: readonly string[]; object(name: string): Watched } {
  const prefix = `${namespaces++} `
  const asked: string[] = []
  return {
    asked,
    idFromName(name) {
      asked.push(name)
      return env.RATE_LIMITS.idFromName(prefix + name)
    },
    get: (id) => env.RATE_LIMITS.get(id),
    object: (name) => env.RATE_LIMITS.get(env.RATE_LIMITS.idFromName(prefix + name) as never) as unknown as Watched,
  }
}

const consume = (key: string, cost = 1, policy = 'p'): Take => ({
  policy,
  key,
  step: stepFor(perMinute(10), 'consume', cost),
})

const tests = (test: TestFunction): void => {
  testStore(test, () => durableObjectStore(namespace(), { shards: 1 }), { histories: 10 })

  test('uses one object per key, which policies of the key share', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects)
    await store.take([consume('a', 1, 'p'), consume('a', 1, 'q')])
    await store.take([consume('b')])
    assert.deepEqual([...new Set(objects.asked)], ['key a', 'key b'])
    const { names } = await objects.object('key a').look()
    assert.deepEqual(names, ['["p","a"]', '["q","a"]'])
  })

  test('spreads keys over shards deterministically', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects, { shards: 4 })
    const keys = Array.from({ length: 100 }, (_, i) => `user-${i}`)
    for (const key of [...keys, ...keys]) await store.take([consume(key)])
    assert.deepEqual([...new Set(objects.asked)].sort(), ['shard 0', 'shard 1', 'shard 2', 'shard 3'])
    assert.deepEqual(objects.asked.slice(0, 100), objects.asked.slice(100))
  })

  test('rejects a batch of two objects, and says what to write', async () => {
    await assert.rejects(durableObjectStore(namespace()).take([consume('a'), consume('b')]), {
      name: 'QuotaError',
      code: 'ERR_SPILLWAY_KEY',
      message: /keys "a" and "b" are in different Durable Objects.*shards: 1/,
    })
  })

  // Reproduces: any name is a method of a stub, as of a service binding. It was taken, and each call failed.
  test('rejects the stub of an object', async () => {
    const stub = namespace().object('a')
    assert.throws(() => durableObjectStore(stub as never), {
      code: 'ERR_SPILLWAY_OPTION',
      message: /such as env\.RATE_LIMITS/,
    })
  })

  test('shortens the object names of long keys, and keeps such keys apart', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects)
    const long = 'k'.repeat(100_000)
    const answers = [await store.take([consume(`${long}a`, 10)]), await store.take([consume(`${long}b`, 10)])]
    assert.deepEqual(
      answers.map(([taken]) => taken?.allowed),
      [true, true],
    )
    assert.ok(objects.asked.every((name) => name.length < 300))
  })

  test('sets an alarm for one minute after the first state expires', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects)
    const before = Date.now()
    await store.take([consume('a', 5)])
    const { alarm } = await objects.object('key a').look()
    // Five units of ten a minute refill in 30 s.
    assert.ok(alarm !== null && alarm >= before + 90_000 && alarm <= Date.now() + 90_000, String(alarm))
    await store.take([consume('a', 5)])
    assert.equal((await objects.object('key a').look()).alarm, alarm)
  })

  test('sweeps expired states, and deletes its storage when no state is left', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects, { shards: 1 })
    const start = Date.now()
    await store.take([consume('soon', 1)])
    await store.take([consume('later', 10)])
    const object = objects.object('shard 0')
    await object.sweep(start + 65_000)
    assert.equal((await object.look()).names?.length, 2)
    await object.sweep(start + 100_000)
    const { names, alarm } = await object.look()
    assert.deepEqual(names, ['["p","later"]'])
    assert.equal(alarm, start + 700_000)
    await object.sweep(start + 200_000)
    assert.deepEqual(await object.look(), { names: undefined, alarm: null })
    assert.equal((await store.take([consume('later', 10)]))[0]?.allowed, true)
    assert.notEqual((await object.look()).alarm, null)
  })

  test('keeps the pending alarm of an object that was evicted', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects, { shards: 1 })
    await store.take([consume('soon', 1)])
    const { alarm } = await objects.object('shard 0').look()
    await assert.rejects(objects.object('shard 0').evict() as never)
    await store.take([consume('later', 10)])
    assert.equal((await objects.object('shard 0').look()).alarm, alarm)
  })

  test('moves a far alarm to a state that expires sooner, but sweeps ten minutes apart', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects, { shards: 1 })
    const object = objects.object('shard 0')
    const alarmOf = async (): Promise<number> => (await object.look()).alarm ?? Number.NaN
    const before = Date.now()
    await store.take([{ policy: 'p', key: 'far', step: stepFor(perDay(10), 'consume', 10) }])
    assert.ok((await alarmOf()) > before + 86_000_000)
    await store.take([consume('soon', 1)])
    const alarm = await alarmOf()
    assert.ok(alarm >= before + 600_000 && alarm <= Date.now() + 600_000, String(alarm))
    await store.take([consume('another', 1)])
    assert.equal(await alarmOf(), alarm)
    // After the sweep, the alarm is far again.
    await object.sweep(alarm)
    assert.deepEqual((await object.look()).names, ['["p","far"]'])
    assert.ok((await alarmOf()) > before + 86_000_000)
    await store.take([consume('soon', 1)])
    assert.ok((await alarmOf()) <= Date.now() + 600_000)
  })

  test('sets the alarm of states that follow a deletion of all', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects, { shards: 1 })
    const object = objects.object('shard 0')
    await store.take([consume('a', 1)])
    const { alarm } = await object.look()
    assert.equal(await store.deleteAll?.(['p']), 1)
    await store.take([consume('b', 1)])
    assert.equal((await object.look()).alarm, alarm)
    await object.sweep(Date.now() + 100_000)
    await assert.rejects(objects.object('shard 0').evict() as never)
    await store.take([consume('c', 1)])
    assert.notEqual((await objects.object('shard 0').look()).alarm, null)
  })

  // Reproduces: the first policy stayed charged, though the call was reported as failed.
  test('charges nothing if one write of a call fails', async () => {
    const objects = namespace()
    const store = durableObjectStore(objects)
    const object = objects.object('key a')
    const at = Date.now() * 1000
    await store.take([consume('a', 1, 'p')], at)
    await object.breakWrites('q')
    const remaining = async (): Promise<number> => {
      const step = stepFor(perMinute(10), 'peek', 1)
      const [taken] = await store.take([{ policy: 'p', key: 'a', step }], at)
      return decide('p', perMinute(10), 1, step, taken as Taken).remaining
    }
    await assert.rejects(store.take([consume('a', 5, 'p'), consume('a', 5, 'q')], at), /disk full/)
    assert.equal(await remaining(), 9)
    await assert.rejects(
      store.takeEach?.([[consume('a', 5, 'p')], [consume('a', 5, 'q')]], at) ?? Promise.resolve(),
      /disk full/,
    )
    assert.equal(await remaining(), 9)
    assert.deepEqual((await object.look()).names, ['["p","a"]'])
    // What the failed call would have written is written by the next.
    assert.equal((await store.take([consume('a', 9, 'p')], at))[0]?.allowed, true)
  })

  test('stores nothing for denials and peeks', async () => {
    const objects = namespace()
    const limiter = rateLimiter({ quota: perMinute(10), store: durableObjectStore(objects), deadline: '10s' })
    await limiter.peek('a')
    await limiter.consume('a', 11)
    await limiter.reset('a')
    assert.deepEqual(await objects.object('key a').look(), { names: undefined, alarm: null })
  })

  test('resetAll deletes the keys of all shards, and rejects if each key has an object of its own', async () => {
    const limiterOf = (store: Store): RateLimiter => rateLimiter({ quota: perMinute(10), store, deadline: '10s' })
    const limiter = limiterOf(durableObjectStore(namespace(), { shards: 4 }))
    const keys = Array.from({ length: 20 }, (_, i) => `user-${i}`)
    for (const key of keys) await limiter.consume(key, 10)
    assert.deepEqual([await limiter.resetAll(), await limiter.resetAll()], [20, 0])
    for (const key of keys) assert.ok((await limiter.consume(key, 10)).allowed)
    await assert.rejects(limiterOf(durableObjectStore(namespace())).resetAll(), { code: 'ERR_SPILLWAY_OPTION' })
  })

  test('admits exactly the limit of concurrent requests through a limiter', async () => {
    const limiter: RateLimiter = rateLimiter({
      quota: perDay(10),
      store: durableObjectStore(namespace()),
      deadline: '10s',
    })
    const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('hot')))
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 10)
  })
}

const suite = suiteServer(tests)
const limiterIn = (deadline: Duration): RateLimiter =>
  rateLimiter({ quota: perMinute(10), store: durableObjectStore(env.RATE_LIMITS), deadline, onStoreError: 'deny' })
const distant = (): Watched =>
  env.RATE_LIMITS.get(env.RATE_LIMITS.idFromName('key distant') as never) as unknown as Watched

/** What a request does with an object that does not answer in time. */
const calls: Readonly<Record<string, () => unknown>> = {
  '/hold': () => distant().hold(),
  '/consume': () => limiterIn('10ms').consume('distant'),
  '/release': () => distant().release(),
  '/peek': () => limiterIn('10s').peek('distant'),
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/') return suite(request)
    const call = calls[pathname] ?? (() => limiterIn('10s').consume(pathname))
    return Response.json((await call()) ?? {})
  },
}
