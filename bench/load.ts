import { connect, type Socket } from 'node:net'

/** A client with keep-alive connections and one request at a time on each. */
export interface Load {
  /** Sends this number of requests, and resolves after the last response. */
  run(requests: number): Promise<void>
  stop(): void
}

const CONNECTIONS = 16
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n'

/** A connection, and the callback for its response. */
interface Line {
  readonly socket: Socket
  answered: (error?: Error) => void
}

/**
 * Connects to a local port from sixteen addresses, which the server sees as sixteen clients. All of them send a request,
 * and send the next one after all responses. A fast and a slow server thus have the same number of waiting requests.
 */
export async function loadOn(port: number): Promise<Load> {
  const lines = await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => lineTo(port, `127.0.0.${i + 2}`)))
  return {
    async run(requests) {
      let busy = true
      // Never sleeps: waking the client would count as CPU time of the server, more so for a slow server.
      const spin = (): unknown => busy && setImmediate(spin)
      spin()
      try {
        for (let left = requests; left > 0; left -= lines.length) await Promise.all(lines.slice(0, left).map(ask))
      } finally {
        busy = false
      }
    },
    stop: () => {
      for (const { socket } of lines) socket.destroy()
    },
  }
}

function lineTo(port: number, localAddress: string): Promise<Line> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true }, () => resolve(line))
    const line: Line = { socket, answered: () => {} }
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      if (!isWhole(answer)) return
      const expected = /^HTTP\/1\.1 (200|429) /.test(answer)
      line.answered(expected ? undefined : new Error(`an unexpected answer: ${answer.slice(0, 200)}`))
      answer = ''
    })
    socket.once('error', reject)
    socket.once('close', () => line.answered(new Error('a connection was closed while it waited for an answer')))
  })
}

const ask = (line: Line): Promise<void> =>
  new Promise((resolve, reject) => {
    line.answered = (error) => (error ? reject(error) : resolve())
    line.socket.write(REQUEST)
  })

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return false
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer) ?? []
  return length === undefined ? answer.endsWith('0\r\n\r\n') : answer.length >= end + 4 + Number(length)
}
