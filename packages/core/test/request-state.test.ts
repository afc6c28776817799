import { describe, expect, test } from 'vitest'
import { type RequestStates, requestStatesFor } from '../src/http/requests/request-state.ts'

const requests: Record<string, () => object> = {
  'that is plain': () => ({ url: '/' }),
  'that is frozen': () => Object.freeze({ url: '/' }),
  'that takes nothing new': () => Object.preventExtensions({ url: '/' }),
  // As sloppy code, such as a CommonJS module, sees a frozen one.
  'that drops what is written to it, without an error': () => new Proxy({ url: '/' }, { set: () => true }),
}

const write = (notes: RequestStates<string>, request: object, value: string): unknown =>
  Object.assign(notes.begin(request) as object, { value })

describe.each(Object.entries(requests))('a request %s', (_, request) => {
  test('is opened once, and keeps what was written', () => {
    const notes = requestStatesFor<string>()
    const one = request()
    expect(notes.read(one)).toBeUndefined()
    const note = notes.begin(one)
    expect(note).toBeDefined()
    expect(notes.begin(one)).toBeUndefined()
    expect(notes.read(one)).toBeUndefined()
    Object.assign(note as object, { value: 'counted' })
    expect(notes.read(one)).toBe('counted')
    expect(notes.begin(one)).toBeUndefined()
  })

  test('has a note from each guard', () => {
    const [ours, theirs] = [requestStatesFor<string>(), requestStatesFor<string>()]
    const one = request()
    write(ours, one, 'ours')
    expect(theirs.read(one)).toBeUndefined()
    expect(theirs.begin(one)).toBeDefined()
    expect(ours.read(one)).toBe('ours')
  })

  test('is not its copy, nor what inherits from it: each of them is counted', () => {
    const notes = requestStatesFor<string>()
    const one = request()
    write(notes, one, 'counted')
    for (const other of [{ ...one }, Object.create(one) as object]) {
      expect(notes.read(other)).toBeUndefined()
      expect(notes.begin(other)).toBeDefined()
    }
    expect(notes.read(one)).toBe('counted')
  })
})

test('a request that is frozen after it was opened still keeps what is written', () => {
  const notes = requestStatesFor<string>()
  const one = {}
  const note = notes.begin(one)
  Object.freeze(one)
  Object.assign(note as object, { value: 'counted' })
  expect([notes.read(one), notes.begin(one)]).toEqual(['counted', undefined])
})

test('a request looks as it did to those who list what it has', () => {
  const one = { url: '/' }
  requestStatesFor<string>().begin(one)
  expect(Object.keys(one)).toEqual(['url'])
  expect(JSON.stringify(one)).toBe('{"url":"/"}')
})
