import { Duplex } from 'node:stream'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n')

/** A connection in memory, with one request at a time. */
export class Line extends Duplex {
  /** What servers read of a socket. */
  readonly remoteAddress: string
  #answer = ''
  #answered: () => void = () => {}

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

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
