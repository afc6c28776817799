import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { warnOnce } from '../src/common/warn.ts'

let logged: string[]
beforeEach(() => {
  logged = []
  vi.spyOn(console, 'warn').mockImplementation((message: string) => void logged.push(message))
})
afterEach(() => void vi.restoreAllMocks())

const link = (code: string) =>
  ` [https://github.com/spillwayjs/spillway/blob/main/docs/errors/warnings.md#warn_spillway_${code}]`

test('a warning is logged once, with a link to its section', () => {
  for (let i = 0; i < 3; i++) warnOnce(console, 'WARN_SPILLWAY_CALLED_TWICE', 'a likely mistake.')
  expect(logged).toEqual([`spillway: a likely mistake.${link('called_twice')}`])
})

// Each different message was kept for ever: a handler whose errors name the request logged and kept one a request.
test('ten details per code are logged, and hide no other warning', () => {
  const warn = (i: number) => warnOnce(console, 'WARN_SPILLWAY_LISTENER', 'a callback threw: ', `request ${i}`)
  for (let i = 0; i < 1_000; i++) warn(i)
  for (let i = 0; i < 1_000; i++) warn(i)
  warnOnce(console, 'WARN_SPILLWAY_SETTLE', 'another callback threw: ', 'request 0')
  expect(logged).toEqual([
    ...Array.from({ length: 9 }, (_, i) => `spillway: a callback threw: request ${i}${link('listener')}`),
    `spillway: a callback threw: request 9 (No more are logged.)${link('listener')}`,
    `spillway: another callback threw: request 0${link('settle')}`,
  ])
})

test('a detail is cut to 1,000 characters', () => {
  for (const end of ['a', 'b']) warnOnce(console, 'WARN_SPILLWAY_SHADOW', 'too long: ', 'x'.repeat(1_000) + end)
  expect(logged).toEqual([`spillway: too long: ${'x'.repeat(1_000)}${link('shadow')}`])
})
