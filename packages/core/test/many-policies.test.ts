import { modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { httpGuard, type PolicyOptions } from '../src/http/index.ts'
import { perMinute, rateLimiter } from '../src/index.ts'
import { policiesFrom } from '../src/rules/index.ts'
import { type FakeRequest, reader } from './fake-request.ts'

type Policy = PolicyOptions<FakeRequest>

const guardOf = (policies: readonly Policy[], store = modelStore(() => START)) =>
  httpGuard<FakeRequest>({ store, policies }, reader)

const many = (count: number, make: (i: number) => Partial<Policy> = () => ({})): readonly Policy[] =>
  Array.from({ length: count }, (_, i) => ({ name: `p${i}`, quota: perMinute(1), ...make(i) }) as Policy)

const chain = (count: number): readonly Policy[] => many(count, (i) => (i < count - 1 ? { spill: `p${i + 1}` } : {}))

const rules = (policies: readonly Policy[]) =>
  policies.map(({ name, spill, tiers }) => ({
    name,
    limit_keys: ['ip:address'],
    algorithm: 'token_bucket',
    algorithm_config: { tokens_per_second: 1, burst: 1 },
    ...(spill !== undefined && { spill }),
    ...(tiers !== undefined && { tiers }),
  }))

const quotas = (count: number) => Object.fromEntries(many(count).map(({ name = '', quota }) => [name, quota as never]))

// 8,000 tiers were built, and then each request failed with a RangeError: one tier called the next.
describe('as many policies as a limiter may have', () => {
  test.each<[string, (match: boolean) => boolean | Promise<boolean>]>([
    ['at once', (match) => match],
    ['with a promise', async (match) => match],
    ['at once and with a promise in turns', (match) => (Math.random() < 0.5 ? match : Promise.resolve(match))],
  ])('a request has the last of the tiers: each is asked once, %s', async (_, answer) => {
    let asked = 0
    const match = (i: number) => (): boolean | Promise<boolean> => {
      asked++
      return answer(i === 999)
    }
    const guard = guardOf(many(1_000, (i) => ({ tiers: 'plan', match: match(i) })))
    expect([(await guard({})).decision?.policy, asked]).toEqual(['p999', 1_000])
  })

  test('a request consumes from each in one step of the store', async () => {
    const model = modelStore(() => START)
    const takes: number[] = []
    const guard = guardOf(many(1_000), {
      ...model,
      takeSync: (ops, at) => {
        takes.push(ops.length)
        return model.takeSync(ops, at)
      },
    })
    expect([(await guard({})).denial, (await guard({})).denial?.status, takes]).toEqual([
      undefined,
      429,
      [1_000, 1_000],
    ])
  })

  test('a request takes once for each shadow policy', async () => {
    const model = modelStore(() => START)
    let takes = 0
    const guard = guardOf(
      many(1_000, () => ({ mode: 'shadow' })),
      {
        ...model,
        takeSync: (ops, at) => {
          takes += ops.length
          return model.takeSync(ops, at)
        },
      },
    )
    await guard({})
    expect(takes).toBe(1_000)
  })
})

describe('more policies than a limiter may have', () => {
  const guard = guardOf(many(2))
  test.each<[string, () => unknown, string]>([
    ['policies', () => guardOf(many(8_000)), 'policies must have at most 1000 entries'],
    [
      'tiers',
      () => guardOf(many(8_000, (i) => ({ tiers: 'plan', match: () => i > 0 }))),
      'got 8000. For a quota of each',
    ],
    ['shadow policies', () => guardOf(many(1_001, () => ({ mode: 'shadow' }))), 'at most 1000'],
    ['policies of replace', () => guard.replace(many(8_000)), 'policies must have at most 1000'],
    [
      'rules',
      () => policiesFrom(rules(many(8_000))),
      'rules must have at most 1000 items; got 8000. For a quota of each',
    ],
    ['rules of a document', () => policiesFrom({ rules: rules(many(1_001)) }), 'rules must have at most 1000 items'],
    [
      'quotas',
      () => rateLimiter({ quotas: quotas(8_000), store: modelStore(() => START) }),
      'quotas must have at most 1000',
    ],
  ])('are refused: %s', (_, build, message) => {
    expect(build).toThrow(message)
  })

  test('and the limiter keeps those that it has', async () => {
    expect(() => guard.replace(many(1_001))).toThrow('at most 1000')
    expect((await guard({})).decision?.policies).toHaveLength(2)
  })
})

// Each policy of a chain is a step of the store: 500 of them took seconds.
describe('a chain of policies that spill over', () => {
  test('of 16 asks the store 16 times', async () => {
    const model = modelStore(() => START)
    let takes = 0
    const guard = guardOf(chain(16), {
      ...model,
      takeSync: (ops, at) => {
        takes++
        return model.takeSync(ops, at)
      },
    })
    for (let i = 0; i < 16; i++) expect((await guard({})).denial).toBeUndefined()
    takes = 0
    expect([(await guard({})).denial?.status, takes]).toEqual([429, 16])
  })

  test.each<[string, () => unknown]>([
    ['policies', () => guardOf(chain(17))],
    ['policies whose first is the last', () => guardOf([...chain(500)].reverse())],
    ['rules', () => policiesFrom(rules(chain(500)))],
    [
      'quotas',
      () =>
        rateLimiter({
          quotas: quotas(17),
          spill: Object.fromEntries(chain(17).flatMap(({ name = '', spill }) => (spill ? [[name, spill]] : []))),
          store: modelStore(() => START),
        }),
    ],
  ])('of more is refused: %s', (_, build) => {
    expect(build).toThrow(/policy "p0" starts a chain of (17|500) policies, .* has at most 16/)
  })

  test('in a long cycle is refused, and beside one', () => {
    const cycle = many(500, (i) => ({ spill: `p${(i + 1) % 500}` }))
    expect(() => guardOf(cycle)).toThrow('policy "p0" spills over to itself')
    expect(() =>
      guardOf([{ name: 'a', quota: perMinute(1), spill: 'b' }, { name: 'b', quota: perMinute(1) }, ...cycle]),
    ).toThrow('policy "p0" spills over to itself')
  })
})
