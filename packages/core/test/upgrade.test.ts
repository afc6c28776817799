import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { type Outgoing, whenAnswered } from '../src/http/index.ts'

/** A connection, the response to a request for an upgrade on it, and the statuses that are reported. */
function setUp(request: object = { upgrade: true }) {
  const sent: unknown[] = []
  const send = (chunk: unknown): void => void sent.push(chunk)
  const socket = Object.assign(new EventEmitter(), { write: send, end: send, destroyed: false, _httpMessage: {} })
  const response = Object.assign(new EventEmitter(), {
    closed: false,
    headersSent: false,
    statusCode: 200,
    req: { socket, headers: {}, ...request },
  })
  socket._httpMessage = response
  const statuses: (number | undefined)[] = []
  const follow = (): void =>
    whenAnswered(response as Outgoing, (status, ended) => {
      statuses.push(status)
      void ended?.then(() => statuses.push(0))
    })
  return { socket, response, sent, statuses, follow }
}

const UPGRADED = 'HTTP/1.1 101 Switching Protocols\r\n\r\n'
const REFUSED = 'HTTP/1.1 401 Unauthorized\r\n\r\n'

test.each(['write', 'end'] as const)('the first status that is written by %s is reported', async (method) => {
  for (const [chunk, expected] of [
    [UPGRADED, [101, 0]],
    [new TextEncoder().encode(UPGRADED), [101, 0]],
    [REFUSED, [401]],
  ] as const) {
    const { socket, sent, statuses, follow } = setUp()
    follow()
    for (const each of ['HTTP/1.1 103 Early Hints\r\n\r\n', chunk, UPGRADED, undefined]) socket[method](each)
    expect(statuses).toEqual(chunk === REFUSED ? [] : [101])
    socket.emit('close')
    await Promise.resolve()
    expect(statuses).toEqual(expected)
    expect(sent).toHaveLength(4)
  }
})

test('without a status, the client has left', () => {
  const { socket, statuses, follow } = setUp()
  follow()
  socket.write('')
  socket.emit('close')
  expect(statuses).toEqual([undefined])
})

// Otherwise a client could choose that its request is an upgrade, by a body that an endpoint sends back.
test('the body of a response is no status, nor is another response on the connection', () => {
  const [own, other] = [setUp({ headers: { upgrade: 'websocket' } }), setUp()]
  own.follow()
  Object.assign(own.response, { headersSent: true, statusCode: 401 })
  other.follow()
  other.socket._httpMessage = {}
  for (const { socket, statuses } of [own, other]) {
    socket.write(UPGRADED)
    socket.emit('close')
    expect(statuses).toEqual([socket === own.socket ? 401 : undefined])
  }
})

test('a response may upgrade its connection itself', () => {
  const { socket, response, statuses, follow } = setUp({ headers: { upgrade: 'websocket' } })
  follow()
  Object.assign(response, { headersSent: true, statusCode: 101 })
  socket.write(UPGRADED)
  expect(statuses).toEqual([101])
})

test('a connection that another protocol reads already is upgraded', () => {
  const { socket, statuses, follow } = setUp()
  socket.on('data', () => {})
  follow()
  expect(statuses).toEqual([101])
})

test('two limiters see the same, and a request without an upgrade watches nothing', () => {
  const { socket, statuses, follow } = setUp()
  follow()
  follow()
  socket.write(UPGRADED)
  expect(statuses).toEqual([101, 101])
  const plain = setUp({})
  const { write } = plain.socket
  plain.follow()
  expect(plain.socket.write).toBe(write)
})
