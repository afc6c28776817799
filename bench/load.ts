import { connect, type Socket } from 'node:net'

/** A client that makes requests on connections that stay open, each as soon as the last one is answered. */
export interface Load {
  /** Makes so many requests, and resolves when the last is answered. */
  run(requests: number): Promise<void>
  stop(): void
}

const CONNECTIONS = 16
const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n'

/** Connects to a port of this machine, from an address each: sixteen clients, so far as the server can tell. */
export async function loadOn(port: number): Promise<Load> {
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => connected(port, `127.0.0.${i + 2}`)))
  return {
    async run(requests) {
      let left = requests
      const next = (): boolean => left-- > 0
      await Promise.all(sockets.map((socket) => converse(socket, next)))
    },
    stop: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function connected(port: number, localAddress: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Asks and waits for the answer, for as long as there is a next. */
function converse(socket: Socket, next: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const ask = (): void => {
      if (next()) socket.write(REQUEST)
      else {
        socket.off('data', hear)
        socket.off('close', lose)
        resolve()
      }
    }
    const lose = (): void => reject(new Error('a connection was closed while it waited for an answer'))
    const hear = (chunk: Buffer): void => {
      answer += chunk.toString('latin1')
      if (!isWhole(answer)) return
      if (!/^HTTP\/1\.1 (200|429) /.test(answer)) reject(new Error(`an unexpected answer: ${answer.slice(0, 200)}`))
      answer = ''
      ask()
    }
    socket.on('data', hear)
    socket.on('close', lose)
    ask()
  })
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  if (end < 0) return false
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer) ?? []
  return length === undefined ? answer.endsWith('0\r\n\r\n') : answer.length >= end + 4 + Number(length)
}
