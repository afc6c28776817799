// One app and its requests in one process, over a socket in memory: `in-process.ts FRAMEWORK NAME BLOCKS REQUESTS`. After each
// block of requests, cachegrind reports the instructions so far.

import { spawnSync } from 'node:child_process'
import type { Server } from 'node:http'
import { Duplex } from 'node:stream'
import { type App, apps } from './apps.ts'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n')

/** A connection in memory, with one request at a time. */
class Line extends Duplex {
  /** What servers read of a socket. */
  readonly remoteAddress = '127.0.0.2'
  #answer = ''
  #answered: () => void = () => {}

  request(): Promise<void> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.push(REQUEST)
    })
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#answer += chunk.toString('latin1')
    done()
    const end = this.#answer.indexOf('\r\n\r\n')
    const length = end < 0 ? undefined : /\r\ncontent-length: (\d+)/i.exec(this.#answer)?.[1]
    if (end < 0 || this.#answer.length < end + 4 + Number(length ?? 0)) return
    if (!/^HTTP\/1\.1 (200|429) /.test(this.#answer))
      throw new Error(`an unexpected answer: ${this.#answer.slice(0, 200)}`)
    this.#answer = ''
    setImmediate(this.#answered)
  }

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }
}

/** Forks the process. The copy ends at once, because there is no such program, and cachegrind reports its count. */
const report = (): unknown => spawnSync('/no/such/program')

async function serve(server: Server, blocks: number, requests: number): Promise<void> {
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
  const line = new Line()
  server.emit('connection', line)
  for (let block = 0; block < blocks; block++) {
    for (let left = requests; left > 0; left--) await line.request()
    report()
  }
}

const [framework = '', name = '', blocks, requests] = process.argv.slice(2)
const app = (apps as Readonly<Record<string, Readonly<Record<string, App>>>>)[framework]?.[name]
if (!app) throw new RangeError(`no app ${name} in ${framework}`)
await serve(await app(), Number(blocks), Number(requests))
process.exit(0)
