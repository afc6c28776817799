import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { warnOnce } from '../src/warn.ts'

let printed: string[]
beforeEach(() => {
  printed = []
  vi.spyOn(console, 'warn').mockImplementation((message: string) => void printed.push(message))
})
afterEach(() => void vi.restoreAllMocks())

test('a warning is printed once', () => {
  for (let i = 0; i < 3; i++) warnOnce(console, 'a likely mistake.')
  expect(printed).toEqual(['spillway: a likely mistake.'])
})

// Each different message was kept for ever: a handler whose errors name the request printed and kept one a request.
test('details of one problem are printed ten times, and silence no other problem', () => {
  for (let i = 0; i < 1_000; i++) warnOnce(console, 'a callback threw: ', `request ${i}`)
  for (let i = 0; i < 1_000; i++) warnOnce(console, 'a callback threw: ', `request ${i}`)
  warnOnce(console, 'another callback threw: ', 'request 0')
  expect(printed).toEqual([
    ...Array.from({ length: 9 }, (_, i) => `spillway: a callback threw: request ${i}`),
    'spillway: a callback threw: request 9 (No more of these are printed.)',
    'spillway: another callback threw: request 0',
  ])
})

test('a detail is cut to 1,000 characters', () => {
  for (const end of ['a', 'b']) warnOnce(console, 'too long: ', 'x'.repeat(1_000) + end)
  expect(printed).toEqual([`spillway: too long: ${'x'.repeat(1_000)}`])
})

test('the type of a problem is its text', () => {
  const detail: string = 'request 1'
  // @ts-expect-error A problem that contains a detail would be another one each time.
  warnOnce(console, `a callback threw: ${detail}`)
  // @ts-expect-error A problem is written where it is reported.
  warnOnce(console, detail)
})
