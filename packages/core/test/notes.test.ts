import { describe, expect, test } from 'vitest'
import { type Notes, notesOnRequests } from '../src/http/notes.ts'

const requests: Record<string, () => object> = {
  'that is plain': () => ({ url: '/' }),
  'that is frozen': () => Object.freeze({ url: '/' }),
  'that takes nothing new': () => Object.preventExtensions({ url: '/' }),
}

const write = (notes: Notes<string>, request: object, text: string): unknown =>
  Object.assign(notes.begin(request) as object, { text })

describe.each(Object.entries(requests))('a request %s', (_, request) => {
  test('is opened once, and keeps what was written', () => {
    const notes = notesOnRequests<string>()
    const one = request()
    expect(notes.read(one)).toBeUndefined()
    const note = notes.begin(one)
    expect(note).toBeDefined()
    expect(notes.begin(one)).toBeUndefined()
    expect(notes.read(one)).toBeUndefined()
    Object.assign(note as object, { text: 'counted' })
    expect(notes.read(one)).toBe('counted')
    expect(notes.begin(one)).toBeUndefined()
  })

  test('has a note from each guard', () => {
    const [ours, theirs] = [notesOnRequests<string>(), notesOnRequests<string>()]
    const one = request()
    write(ours, one, 'ours')
    expect(theirs.read(one)).toBeUndefined()
    expect(theirs.begin(one)).toBeDefined()
    expect(ours.read(one)).toBe('ours')
  })

  test('is not its copy, nor what inherits from it: each of them is counted', () => {
    const notes = notesOnRequests<string>()
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
  const notes = notesOnRequests<string>()
  const one = {}
  const note = notes.begin(one)
  Object.freeze(one)
  Object.assign(note as object, { text: 'counted' })
  expect([notes.read(one), notes.begin(one)]).toEqual(['counted', undefined])
})

test('a request looks as it did to those who list what it has', () => {
  const one = { url: '/' }
  notesOnRequests<string>().begin(one)
  expect(Object.keys(one)).toEqual(['url'])
  expect(JSON.stringify(one)).toBe('{"url":"/"}')
})
