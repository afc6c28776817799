import { describe, expect, test } from 'vitest'
import { type RequestState, type RequestStates, requestStatesFor } from '../src/http/requests/request-state.ts'

const requests: Record<string, () => object> = {
  'that is plain': () => ({ url: '/' }),
  'that is frozen': () => Object.freeze({ url: '/' }),
  'that takes nothing new': () => Object.preventExtensions({ url: '/' }),
  // As sloppy code, such as a CommonJS module, sees a frozen one.
  'that drops what is written to it, without an error': () => new Proxy({ url: '/' }, { set: () => true }),
}

const none: RequestState<string> = {
  identity: undefined,
  owner: undefined,
  before: undefined,
  value: undefined,
  shownNames: undefined,
}

/** The note that a guard makes of a request; undefined if it has one. */
function begin(notes: RequestStates<string>, request: object): RequestState<string> | undefined {
  const note = { ...none }
  return notes.begin(note, request) ? note : undefined
}

const write = (notes: RequestStates<string>, request: object, value: string): unknown =>
  Object.assign(begin(notes, request) as object, { value })

describe.each(Object.entries(requests))('a request %s', (_, request) => {
  test('is opened once, and keeps what was written', () => {
    const notes = requestStatesFor<string>()
    const one = request()
    expect(notes.read(one)).toBeUndefined()
    const note = begin(notes, one)
    expect(note).toBeDefined()
    expect(begin(notes, one)).toBeUndefined()
    expect(notes.read(one)).toBeUndefined()
    Object.assign(note as object, { value: 'counted' })
    expect(notes.read(one)).toBe('counted')
    expect(begin(notes, one)).toBeUndefined()
  })

  test('has a note from each guard', () => {
    const [ours, theirs] = [requestStatesFor<string>(), requestStatesFor<string>()]
    const one = request()
    write(ours, one, 'ours')
    expect(theirs.read(one)).toBeUndefined()
    expect(begin(theirs, one)).toBeDefined()
    expect(ours.read(one)).toBe('ours')
  })

  test('is not its copy, nor what inherits from it: each of them is counted', () => {
    const notes = requestStatesFor<string>()
    const one = request()
    write(notes, one, 'counted')
    for (const other of [{ ...one }, Object.create(one) as object]) {
      expect(notes.read(other)).toBeUndefined()
      expect(begin(notes, other)).toBeDefined()
    }
    expect(notes.read(one)).toBe('counted')
  })
})

test('a request that is frozen after it was opened still keeps what is written', () => {
  const notes = requestStatesFor<string>()
  const one = {}
  const note = begin(notes, one)
  Object.freeze(one)
  Object.assign(note as object, { value: 'counted' })
  expect([notes.read(one), begin(notes, one)]).toEqual(['counted', undefined])
})

test('a request looks as it did to those who list what it has', () => {
  const one = { url: '/' }
  begin(requestStatesFor(), one)
  expect(Object.keys(one)).toEqual(['url'])
  expect(JSON.stringify(one)).toBe('{"url":"/"}')
})
