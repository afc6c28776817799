import { describe, expect, test } from 'vitest'
import { shownNamesOf } from '../src/http/headers/display-names.ts'
import type { RequestState } from '../src/http/requests/request-state.ts'
import type { Decision } from '../src/index.ts'

/** Notes of guards that a request has passed, each with the names of its policies. */
const passed = (guards: readonly (readonly string[])[]): RequestState<Decision> | undefined =>
  guards.reduce<RequestState<Decision> | undefined>((before, names) => {
    const policies = names.map((policy) => ({ policy }) as Decision)
    const text = { ...policies[0], ...(policies.length > 1 && { policies }) } as Decision
    return { identity: {}, owner: {}, before, value: text, shownNames: shownNamesOf(names, before) }
  }, undefined)

const shown = (guards: readonly (readonly string[])[], own: readonly string[]) => {
  const names = shownNamesOf(own, passed(guards))
  return names && own.map((name) => names.get(name) ?? name)
}

describe('the names that clients read behind other limiters', () => {
  test.each<[readonly (readonly string[])[], readonly string[], readonly string[] | undefined]>([
    [[], ['a'], undefined],
    [[['a']], ['b'], undefined],
    [[['a']], ['a'], ['a-2']],
    [[['a'], ['a']], ['a'], ['a-3']],
    [[['a', 'a-2']], ['a', 'a-2'], ['a-3', 'a-2-2']],
    [[['a']], ['a', 'a-2'], ['a-3', 'a-2']],
    [[['a']], ['a-2', 'a'], ['a-2', 'a-3']],
    [
      [['a'], ['a'], ['a-2']],
      ['a-2', 'b'],
      ['a-2-3', 'b'],
    ],
  ])('%j, then %j: %j', (guards, own, expected) => expect(shown(guards, own)).toEqual(expected))

  test('ignores a guard that has not counted the request', () => {
    const before = { identity: {}, owner: {}, before: undefined, value: undefined, shownNames: undefined }
    expect(shownNamesOf(['a'], before)).toBeUndefined()
  })
})
