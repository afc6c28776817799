import { createHash } from 'node:crypto'
import type { Micros, State } from '@spillway/core'
import { START, type World } from '../runtime/world.ts'
import { type Effect, type Keyspace, runScript } from './script.ts'

/** One command, with the arguments that the store gives the client. */
export interface Command {
  readonly name: 'evalsha' | 'eval' | 'del' | 'scan' | 'unlink'
  readonly words: readonly string[]
}

/** The keys and the other arguments of a script call. */
export function scriptArguments([, count = '0', ...rest]: readonly string[]): readonly [string[], string[]] {
  return [rest.slice(0, Number(count)), rest.slice(Number(count))]
}

interface Stored {
  readonly state: State
  readonly expiresAt: Micros
}

interface Change {
  readonly at: number
  readonly name: string
  readonly before: Stored | undefined
}

/** What an observer of a server learns: every write, at the time of the world and of the server's clock. */
export interface ServerObserver {
  wrote(server: RedisServer, name: string, state: State | undefined): void
  /** States were lost: of one key, or of all. `refunds` is how many ticks of refunds were lost with the state of a key. */
  lost(server: RedisServer, name?: string, refunds?: number): void
}

/** How long changes are kept for a failover, in microseconds. */
const LONGEST_LAG = 2_000_000

/** A Redis server. It runs the TypeScript kernels, which the conformance suite holds equal to the Lua ones. */
export class RedisServer implements Keyspace {
  readonly name: string
  isUp = true
  frozenUntil = 0
  /** Commands executed since the start. */
  commands = 0
  readonly #world: World
  readonly #observer: ServerObserver
  readonly #states = new Map<string, Stored>()
  readonly #scripts = new Set<string>()
  readonly #changes: Change[] = []
  #clockStep = 0

  constructor(world: World, name: string, observer: ServerObserver) {
    this.#world = world
    this.name = name
    this.#observer = observer
  }

  now(): Micros {
    return START + this.#world.now + this.#clockStep
  }
  read(name: string): State | undefined {
    const stored = this.#states.get(name)
    return stored && stored.expiresAt > this.now() ? stored.state : undefined
  }
  write(name: string, state: State, expiresAt: Micros): void {
    this.#set(name, { state, expiresAt })
  }
  #set(name: string, stored: Stored | undefined): void {
    const at = this.#world.now
    this.#changes.push({ at, name, before: this.#states.get(name) })
    while ((this.#changes[0] as Change).at < at - LONGEST_LAG) this.#changes.shift()
    if (stored) this.#states.set(name, stored)
    else this.#states.delete(name)
    this.#observer.wrote(this, name, stored?.state)
  }

  /** Executes a command, and returns its reply and its effects. Throws the error that the server would reply. */
  execute({ name, words }: Command): readonly [unknown, readonly Effect[]] {
    this.commands++
    switch (name) {
      case 'evalsha':
        if (!this.#scripts.has(words[0] as string)) throw new Error('NOSCRIPT No matching script.')
        return runScript(this, ...scriptArguments(words))
      case 'eval':
        this.#scripts.add(digestOf(words[0] as string))
        return runScript(this, ...scriptArguments(words))
      case 'scan':
        return [['0', [...this.#states.keys()]], []]
      case 'del':
      case 'unlink': {
        const found = words.filter((key) => this.read(key) !== undefined)
        for (const key of words) this.#set(key, undefined)
        return [found.length, []]
      }
    }
  }

  // Faults.

  stepClock(micros: number): void {
    this.#clockStep += micros
  }
  /** Stops the server; its states are lost. */
  kill(): void {
    this.isUp = false
    this.#scripts.clear()
    this.#states.clear()
    this.#changes.length = 0
    this.#observer.lost(this)
  }
  restart(): void {
    this.isUp = true
    this.frozenUntil = 0
  }
  /** Promotes a replica that has not received the writes of the last `lag` microseconds. */
  failOver(lag: number): void {
    this.#scripts.clear()
    const changes = this.#changes.splice(0).filter(({ at }) => at >= this.#world.now - lag)
    // In reverse order: the oldest state of a name is set last.
    const restored = new Map(changes.reverse().map(({ name, before }) => [name, before]))
    for (const [name, before] of restored) {
      const refunds = Math.max(fullAt(before?.state) - fullAt(this.#states.get(name)?.state), 0)
      if (before) this.#states.set(name, before)
      else this.#states.delete(name)
      this.#observer.lost(this, name, before && refunds)
    }
  }
  /** Evicts keys that `isEvicted` draws. */
  evict(isEvicted: () => boolean): void {
    for (const name of [...this.#states.keys()].filter(isEvicted)) {
      this.#states.delete(name)
      this.#observer.lost(this, name)
    }
  }
}

/** When a bucket is full again. */
function fullAt(state: State | undefined): Micros {
  if (typeof state === 'number') return Math.abs(state)
  return state && 'tat' in state ? Math.abs(state.tat) : 0
}

const digests = new Map<string, string>()

function digestOf(text: string): string {
  const digest = digests.get(text) ?? createHash('sha1').update(text).digest('hex')
  digests.set(text, digest)
  return digest
}
