import { describe, expect, test } from 'vitest'
import { notesOnRequests } from '../src/http/notes.ts'

const requests: Record<string, () => object> = {
  'that is plain': () => ({ url: '/' }),
  'that is frozen': () => Object.freeze({ url: '/' }),
  'that takes nothing new': () => Object.preventExtensions({ url: '/' }),
}

describe.each(Object.entries(requests))('a request %s', (_, request) => {
  test('is opened once, and keeps what was written', () => {
    const notes = notesOnRequests<string>()
    const one = request()
    expect(notes.read(one)).toBeUndefined()
    expect([notes.begin(one), notes.begin(one)]).toEqual([true, false])
    expect(notes.read(one)).toBeUndefined()
    notes.write(one, 'counted')
    expect(notes.read(one)).toBe('counted')
    expect(notes.begin(one)).toBe(false)
  })

  test('has a note from each guard', () => {
    const [ours, theirs] = [notesOnRequests<string>(), notesOnRequests<string>()]
    const one = request()
    ours.begin(one)
    ours.write(one, 'ours')
    expect(theirs.read(one)).toBeUndefined()
    expect(theirs.begin(one)).toBe(true)
    expect(ours.read(one)).toBe('ours')
  })

  test('is not its copy, nor what inherits from it: each of them is counted', () => {
    const notes = notesOnRequests<string>()
    const one = request()
    notes.begin(one)
    notes.write(one, 'counted')
    for (const other of [{ ...one }, Object.create(one) as object]) {
      expect(notes.read(other)).toBeUndefined()
      expect(notes.begin(other)).toBe(true)
    }
    expect(notes.read(one)).toBe('counted')
  })
})

test('a request that is frozen after it was opened still keeps what is written', () => {
  const notes = notesOnRequests<string>()
  const one = {}
  notes.begin(one)
  Object.freeze(one)
  notes.write(one, 'counted')
  expect([notes.read(one), notes.begin(one)]).toEqual(['counted', false])
})

test('a request looks as it did to those who list what it has', () => {
  const one = { url: '/' }
  notesOnRequests<string>().begin(one)
  expect(Object.keys(one)).toEqual(['url'])
  expect(JSON.stringify(one)).toBe('{"url":"/"}')
})
