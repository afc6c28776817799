import { Connection, type Ends } from './connection.ts'
import { type Command, commandOf } from './server.ts'

/** The methods of an ioredis client that the store calls, over a simulated network. */
export interface SimulatedClient {
  evalsha(...words: readonly (string | number)[]): Promise<unknown>
  eval(...words: readonly (string | number)[]): Promise<unknown>
  del(...names: readonly string[]): Promise<unknown>
  unlink(...names: readonly string[]): Promise<unknown>
  scan(cursor: string): Promise<readonly [string, readonly string[]]>
  /** Breaks all connections. */
  cut(): void
  /** Silences all connections, until the client leaves them. */
  silence(micros: number): void
}

/** A client with some connections, which take turns: with several, messages overtake each other. */
export function clientOf(count: number, ends: Ends): SimulatedClient {
  const connections = Array.from({ length: count }, () => new Connection(ends))
  let next = 0
  const send = (name: Command['name'], words: readonly (string | number)[]): Promise<unknown> => {
    const connection = connections[next++ % count] as Connection
    return connection.send(commandOf(name, words.map(String)))
  }
  return {
    evalsha: (...words) => send('evalsha', words),
    eval: (...words) => send('eval', words),
    del: (...names) => send('del', names),
    unlink: (...names) => send('unlink', names),
    scan: (cursor) => send('scan', [cursor]) as Promise<readonly [string, readonly string[]]>,
    cut: () => {
      for (const connection of connections) connection.cut()
    },
    silence: (micros) => {
      for (const connection of connections) connection.silence(micros)
    },
  }
}
