import { once } from 'node:events'
import type { INestApplication, WebSocketAdapter } from '@nestjs/common'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { connect } from 'socket.io-client'
import { WebSocket } from 'ws'

interface Message {
  readonly event: string
  readonly data: unknown
}

/** A client of a WebSocket, of either kind. */
export interface Client {
  /** Sends an event `say`, and returns the next event. */
  say(data: unknown): Promise<Message>
  /** Sends messages at once, and returns the next `count` events. */
  send(messages: readonly Message[], count?: number): Promise<readonly Message[]>
  close(): void
}

const clientOf = (send: Client['send'], close: () => void): Client => ({
  say: async (data) => (await send([{ event: 'say', data }]))[0] as Message,
  send,
  close,
})

async function wsClient(port: number): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  await once(socket, 'open')
  const send: Client['send'] = (messages, count = messages.length) =>
    new Promise((resolve) => {
      const received: Message[] = []
      socket.on('message', (text) => {
        if (received.push(JSON.parse(String(text))) < count) return
        socket.removeAllListeners('message')
        resolve(received)
      })
      for (const each of messages) socket.send(JSON.stringify(each))
    })
  return clientOf(send, () => socket.close())
}

async function socketIoClient(port: number): Promise<Client> {
  const socket = connect(`http://127.0.0.1:${port}`, { transports: ['websocket'], reconnection: false })
  await new Promise<void>((resolve) => socket.on('connect', resolve))
  const send: Client['send'] = (messages, count = messages.length) =>
    new Promise((resolve) => {
      const received: Message[] = []
      socket.onAny((event: string, data: unknown) => {
        if (received.push({ event, data }) < count) return
        socket.offAny()
        resolve(received)
      })
      for (const { event, data } of messages) socket.emit(event, data)
    })
  return clientOf(send, () => void socket.disconnect())
}

type Adapter = new (app: INestApplication) => WebSocketAdapter

/** The platforms of WebSockets: their names, their adapters, and what connects a client. */
export const sockets: readonly [string, Adapter, (port: number) => Promise<Client>][] = [
  ['ws', WsAdapter, wsClient],
  ['socket.io', IoAdapter, socketIoClient],
]
