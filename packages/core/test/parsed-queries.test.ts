import { modelStore, START } from '@spillway/conformance'
import { expect, test } from 'vitest'
import { httpGuard } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { type FakeRequest, reader } from './fake-request.ts'

// A framework's parser of queries may be the app's own, and return anything.

const bare = (inner: object): object => Object.assign(Object.create(null) as object, inner)
const circular: unknown[] = []
circular.push({ circular })
const hostile = {
  toString: () => {
    throw new Error('it was made text of')
  },
}

test.each<[string, unknown]>([
  ['an object without a prototype', bare({ a: '1' })],
  ['an empty object without a prototype', bare({})],
  ['a list of them', [bare({}), bare({ a: bare({}) })]],
  ['text and one of them', ['ann', bare({ a: 'ann' })]],
  ['text and an empty object', ['ann', {}]],
  ['an object that cannot be text', hostile],
  ['one of them in a list', [['ann', hostile]]],
  ['what contains itself', circular],
  ['a list of nothing', []],
  ['nothing in a list', [null, undefined]],
  ['null', null],
])('a parameter that is %s is missing, and is no error as a cost', async (_, user) => {
  const guard = httpGuard<FakeRequest>(
    {
      store: modelStore(() => START),
      policies: [
        { name: 'key', quota: perMinute(2), key: 'query:user' },
        { name: 'cost', quota: perMinute(10), cost: 'query:user', maxCost: 3 },
      ],
      logger: { warn: () => {} },
    },
    { ...reader, query: ({ user }) => user },
  )
  const remaining = async (request: FakeRequest) =>
    (await guard(request)).decision?.policies?.map((each) => each.remaining)
  expect(await remaining({})).toEqual([1, 9])
  // The key of both is that of all requests without the parameter.
  expect(await remaining({ user: { user } })).toEqual([0, expect.toSatisfy((left) => left >= 6 && left <= 8)])
})
