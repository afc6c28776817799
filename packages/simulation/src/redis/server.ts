import { createHash } from 'node:crypto'
import type { Effect } from '../batches.ts'
import { StateServer } from '../state-server.ts'
import { type Program, programOf, runProgram } from './script.ts'

/** One command, with the arguments that the store gives the client. */
export interface Command {
  readonly name: 'evalsha' | 'eval' | 'del' | 'scan' | 'unlink'
  readonly words: readonly string[]
  /** What a script call does. */
  readonly program: Program | undefined
}

export function commandOf(name: Command['name'], words: readonly string[]): Command {
  const isScript = name === 'evalsha' || name === 'eval'
  const first = 2 + Number(words[1])
  return { name, words, program: isScript ? programOf(words.slice(2, first), words.slice(first)) : undefined }
}

/** A Redis server: its states and scripts are in memory. */
export class RedisServer extends StateServer {
  /** Until when the keys of a hash slot are on two nodes: a script call for several of them does not run. */
  movesUntil = 0
  readonly #scripts = new Set<string>()

  nameOf(key: string, policy = ''): string {
    return `spillway:1{${key}}${policy}`
  }

  /** Executes a command, and returns its reply and its effects. Throws the error that the server would reply. */
  execute({ name, words, program }: Command): readonly [unknown, readonly Effect[]] {
    this.commands++
    if (program && program.keys.length > 1 && this.world.now < this.movesUntil)
      throw new Error('TRYAGAIN Multiple keys request during rehashing of slot')
    switch (name) {
      case 'evalsha':
        if (!this.#scripts.has(words[0] as string)) throw new Error('NOSCRIPT No matching script.')
        return runProgram(this, program as Program)
      case 'eval':
        this.#scripts.add(digestOf(words[0] as string))
        return runProgram(this, program as Program)
      case 'scan':
        return [['0', this.names()], []]
      case 'del':
      case 'unlink': {
        const found = words.filter((key) => this.read(key) !== undefined)
        for (const key of words) this.delete(key)
        return [found.length, []]
      }
    }
  }

  override kill(): void {
    super.kill()
    this.#scripts.clear()
    this.loseAll()
  }
  override failOver(lag: number): void {
    this.#scripts.clear()
    super.failOver(lag)
  }
}

const digests = new Map<string, string>()

function digestOf(text: string): string {
  const digest = digests.get(text) ?? createHash('sha1').update(text).digest('hex')
  digests.set(text, digest)
  return digest
}
