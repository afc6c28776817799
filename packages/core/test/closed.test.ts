import { expect, test } from 'vitest'
import { isOver, whenClosed } from '../src/http/index.ts'

const listeners = { on: () => {}, off: () => {} }

test.each<[runtime: string, open: object, closed: object]>([
  ['Node', { closed: false, destroyed: true }, { closed: true }],
  ['Node over HTTP/2', { stream: { closed: false } }, { stream: { closed: true } }],
  ['Deno', { destroyed: false }, { destroyed: true }],
])('a response of %s is over once its client has disconnected', (_, open, closed) => {
  const over = [open, closed].map((response) => isOver({ ...listeners, headersSent: false, ...response }))
  expect(over).toEqual([false, true])
  let calls = 0
  whenClosed({ ...listeners, ...open }, () => calls++)
  expect(calls).toBe(0)
  whenClosed({ ...listeners, ...closed }, () => calls++)
  expect(calls).toBe(1)
})
