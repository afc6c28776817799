import { modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard } from '../src/http/index.ts'
import { penalty, perMinute, rateLimiter } from '../src/index.ts'
import { HOUR } from './blocking.ts'

describe('a rateLimit that can block', () => {
  const setUp = (options: object) => {
    const guard = httpGuard({ store: modelStore(() => START), ...options } as never, plainReader)
    return { guard, ...guard.byKey, verdict: async () => guard({}) }
  }

  test('sends the rest of the block, the policy that denies and the problem type, and else the headers without it', async () => {
    const { verdict, block, unblock, peek } = setUp({ name: 'api', quota: perMinute(5), blocks: true })
    expect(new Map((await verdict()).headers).get('RateLimit-Policy')).toBe('"api";q=5;w=60')
    await block('203.0.113.7', '1h')
    const { headers, denial } = await verdict()
    expect(Object.fromEntries(headers)).toMatchObject({
      'RateLimit-Policy': '"api";q=5;w=60, "api (blocked)";q=0;w=1',
      RateLimit: '"api";r=4;t=12, "api (blocked)";r=0;t=3600',
      'Retry-After': '3600',
    })
    expect(JSON.parse(denial?.body ?? '')).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
      'violated-policies': ['api (blocked)'],
      'retry-after-ms': HOUR,
    })
    expect(await peek('203.0.113.7')).toMatchObject({ allowed: false, policy: 'api (blocked)' })
    await unblock('203.0.113.7')
    expect((await verdict()).decision).toMatchObject({ allowed: true, remaining: 3 })
  })

  test('settles and refunds the policy, and leaves its block list', async () => {
    const { verdict, peek } = setUp({ quota: perMinute(5), blocks: true, refundIf: (status: number) => status >= 500 })
    const first = await verdict()
    await first.decision?.settle(3)
    expect((await peek('203.0.113.7')).remaining).toBe(2)
    await (await verdict()).after?.(500, undefined)
    expect((await peek('203.0.113.7')).remaining).toBe(2)
  })

  test('never denies by a shadow policy, and reports that it would', async () => {
    const events: unknown[] = []
    const onDecision = ({ decision, mode }: { decision: { policy: string }; mode: string }) =>
      void events.push([decision.policy, mode])
    const { verdict, block } = setUp({ quota: perMinute(5), blocks: true, mode: 'shadow', onDecision })
    await verdict()
    await block('203.0.113.7', '1h', { policy: 'default' })
    expect((await verdict()).denial).toBeUndefined()
    expect(events).toEqual([
      ['default (shadow)', 'shadow'],
      ['default (shadow) (blocked)', 'shadow'],
    ])
  })

  test('blocks by a penalty, by a quota that a function chooses, and by the policy that can', async () => {
    const login = setUp({ quota: penalty({ after: 5, within: '1m', block: '1m' }) })
    await login.block('203.0.113.7', '1h')
    expect((await login.verdict()).denial?.status).toBe(429)
    const policies = [
      { name: 'burst', quota: perMinute(5) },
      { name: 'plan', quota: () => perMinute(50), blocks: true },
    ]
    const { block, verdict, reset } = setUp({ policies })
    await block('203.0.113.7', '1h')
    expect((await verdict()).decision).toMatchObject({ allowed: false, violated: ['plan (blocked)'] })
    await expect(block('203.0.113.7', '1h', { policy: 'burst' })).rejects.toThrow('Build it with blocks: true.')
    await expect(block('203.0.113.7', '1h', { polisy: 'plan' } as never)).rejects.toThrow('Did you mean "policy"?')
    expect(await reset('203.0.113.7')).toBe(true)
    expect((await verdict()).decision?.allowed).toBe(true)
  })

  test('rejects an option that is not a boolean, and a policy with the name of the block list', () => {
    expect(() => setUp({ quota: perMinute(5), blocks: 1 })).toThrow('blocks must be true or false; got 1.')
    const policies = [
      { name: 'a', quota: perMinute(5), blocks: true },
      { name: 'a (blocked)', quota: perMinute(5) },
    ]
    expect(() => setUp({ policies })).toThrow('two policies are named "a (blocked)"')
    const quotas = { a: perMinute(5), 'a (blocked)': perMinute(5) }
    expect(() => rateLimiter({ quotas, blocks: true, store: modelStore(() => START) })).toThrow(
      'are named "a (blocked)" and would count as one',
    )
  })
})
