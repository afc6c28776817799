import { EventEmitter } from 'node:events'
import { expect, test, vi } from 'vitest'
import { isOver, whenAbandoned, whenClosed, whenDisconnected } from '../src/http/index.ts'

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

// Node warned of a leak from the eleventh listener of a connection on, as with eleven pipelined requests through Fastify.
test('responses on one connection share a listener, and leave it when they close', () => {
  const socket = new EventEmitter()
  const responses = Array.from({ length: 20 }, () =>
    Object.assign(new EventEmitter(), { closed: false, req: { socket } }),
  )
  const closed: number[] = []
  const stops = responses.map((response, i) => whenClosed(response, () => closed.push(i)))
  whenDisconnected({ socket }, () => closed.push(20))
  expect(socket.listenerCount('close')).toBe(1)
  stops[1]?.()
  responses[0]?.emit('close')
  expect(closed).toEqual([0])
  socket.emit('close')
  for (const response of responses) response.emit('close')
  expect(closed).toEqual([0, ...Array.from({ length: 19 }, (_, i) => i + 2)])
  expect(responses.map((response) => response.listenerCount('close'))).toEqual(responses.map(() => 0))
})

// Node warned of a leak if a response passed eleven limiters with refundIf, or eight behind compression.
test('callers share a listener of a response, and leave none behind', () => {
  const response = Object.assign(new EventEmitter(), { closed: false })
  const signal = new AbortController()
  const added = vi.spyOn(signal.signal, 'addEventListener')
  const removed = vi.spyOn(signal.signal, 'removeEventListener')
  const called: number[] = []
  const listener = (i: number) => () => void called.push(i)
  for (const when of [
    (i: number) => whenClosed(response, listener(i)),
    (i: number) => whenAbandoned({ signal: signal.signal }, undefined, listener(i)),
  ]) {
    const stops = Array.from({ length: 30 }, (_, i) => when(i))
    for (const i of [0, 7, 7]) stops[i]?.()
  }
  expect([response.listenerCount('close'), added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1, 0])
  response.emit('close')
  signal.abort()
  const others = Array.from({ length: 30 }, (_, i) => i).filter((i) => i !== 0 && i !== 7)
  expect(called).toEqual([...others, ...others])
  const stops = Array.from({ length: 3 }, () => whenClosed(response, () => {}))
  expect(response.listenerCount('close')).toBe(1)
  for (const stop of stops) stop()
  expect(response.listenerCount('close')).toBe(0)
})

test('a response is over once its connection is destroyed, even if it waits for its turn on it', () => {
  const socket = Object.assign(new EventEmitter(), { destroyed: true })
  const response = Object.assign(new EventEmitter(), { closed: false, headersSent: false, req: { socket } })
  expect([isOver(response), isOver({ ...response, ...listeners, req: {} })]).toEqual([true, false])
  let calls = 0
  whenClosed(response, () => calls++)
  whenDisconnected({ socket }, () => calls++)
  expect(calls).toBe(2)
})

// In a function on AWS, each asynchronous option failed with "socket.on is not a function": the socket is a plain object there.
test('a request whose socket reports nothing stays connected', () => {
  let calls = 0
  whenDisconnected({ socket: { remoteAddress: '203.0.113.7' } }, () => calls++)()
  expect(calls).toBe(0)
})

test('a response over HTTP/2 does not listen to the socket of its request, which is a proxy', () => {
  const socket = new EventEmitter()
  whenClosed(Object.assign(new EventEmitter(), { stream: { closed: false }, req: { socket } }), () => {})
  expect(socket.listenerCount('close')).toBe(0)
})
