import { modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard } from '../src/http/index.ts'
import { perMinute, rateLimiter } from '../src/index.ts'
import { policiesFrom } from '../src/rules/index.ts'
import { quotas } from './spilling.ts'

describe('a spill that cannot be', () => {
  const policy = (name: string, options: object = {}) => ({ name, quota: perMinute(1), ...options })
  test.each<[string, object[], string]>([
    ['a misspelt name', [policy('a', { spill: 'extar' }), policy('extra')], 'Did you mean "extra"?'],
    ['no name', [policy('a', { spill: 5 }), policy('b')], 'there is none named 5. There are "a", "b".'],
    ['itself', [policy('a', { spill: 'a' })], 'policy "a" spills over to itself, by "a" → "a".'],
    [
      'a circle',
      [policy('a', { spill: 'b' }), policy('b', { spill: 'c' }), policy('c', { spill: 'a' })],
      'policy "a" spills over to itself, by "a" → "b" → "c" → "a".',
    ],
    [
      'one for two',
      [policy('a', { spill: 'c' }), policy('b', { spill: 'c' }), policy('c')],
      'two policies spill over to "c"',
    ],
    [
      'a shadow',
      [policy('a', { spill: 'b' }), policy('b', { mode: 'shadow' })],
      'there is none named "b". There are "a". Write spill:',
    ],
    ['that of a shadow', [policy('a', { spill: 'b', mode: 'shadow' }), policy('b')], 'there is none named "a"'],
  ])('is rejected when the limiter is built: %s', (_, policies, message) => {
    expect(() => httpGuard({ policies, store: modelStore(() => START) } as never, plainReader)).toThrow(message)
  })

  test('is rejected for quotas, too', () => {
    const store = modelStore(() => START)
    expect(() => rateLimiter({ quotas, spill: { second: 'extar' }, store })).toThrow('Did you mean "extra"?')
    expect(() => rateLimiter({ quotas, spill: { secnd: 'extra' }, store })).toThrow('Did you mean "second"?')
    expect(() => rateLimiter({ quotas, spill: null as never, store })).toThrow(
      'rateLimiter spill is null. Give it a value, or leave it out.',
    )
    expect(() => rateLimiter({ quotas, spill: { toString: 'extra' }, store })).toThrow('spill has no option "toString"')
  })
})

describe('a rule with spill', () => {
  const rule = (name: string, options: object = {}) => ({
    name,
    limit_keys: ['ip:address'],
    algorithm: 'token_bucket',
    algorithm_config: { tokens_per_second: 1, burst: 1 },
    ...options,
  })

  test('is a policy with spill', () => {
    expect(policiesFrom([rule('a', { spill: 'b' }), rule('b')])).toMatchObject([
      { name: 'a', spill: 'b' },
      { name: 'b' },
    ])
  })

  test.each<[object[], string]>([
    [
      [rule('a', { spill: 'extar' }), rule('extra')],
      'rules: spill names an enforced policy; there is none named "extar"',
    ],
    [[rule('a', { spill: 'b' }), rule('b', { spill: 'a' })], 'policy "a" spills over to itself'],
    [[rule('a', { spill: 5 })], 'rules[0].spill must be'],
  ])('is rejected: %j', (rules, message) => {
    expect(() => policiesFrom(rules)).toThrow(message)
  })
})
