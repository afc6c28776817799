import { type Deadline, StoreError } from '@spillway/core'
import {
  expiredError,
  formatThrown,
  isExpired,
  markUnsent,
  processState,
  setConnectionError,
} from '@spillway/core/internal'
import { type Answer, type Call, dataOf, messageOf, type Reply } from './messages.ts'
import { type CallToSend, requestOf } from './request.ts'
import { isUnderPm2, thisProcess, UNDER_PM2 } from './runtime.ts'

/** The most calls of one message: the primary answers those of other workers in between. */
const MAX_CALLS = 250
/** The most messages without an answer. The oldest fails then: its answer was lost with another primary. */
const MAX_UNANSWERED = 1_000

/** A call, and its caller. */
interface Waiting extends CallToSend {
  readonly deadline: Deadline | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The calls of this process to the store of a name in its primary: those of an event-loop tick share a message. */
export class Channel {
  readonly #name: string
  #waiting: Waiting[] = []
  readonly #unanswered = new Map<number, readonly Waiting[]>()
  #id = 0
  #hasAnswered = false
  /** Whether the channel takes no more messages before one has been written. */
  #isFull = false
  #end: StoreError | undefined

  constructor(name: string) {
    this.#name = name
    if (thisProcess().connected === false) this.#end = ended()
  }

  /** Resolves with the value of the answer. */
  call(call: Call, steps: CallToSend['steps'], deadline?: Deadline): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(markUnsent(this.#end))
    if (this.#isFull) this.#dropExpired()
    return new Promise((resolve, reject) => {
      const isFirst = this.#waiting.push({ call, steps, deadline, resolve, reject }) === 1
      if (isFirst && !this.#isFull) afterTick(() => this.#flush())
    })
  }

  /** Settles the callers of a request. */
  receive({ id, answers }: Reply): void {
    const sent = this.#unanswered.get(id)
    if (sent === undefined || !Array.isArray(answers)) return
    this.#unanswered.delete(id)
    if (!this.#hasAnswered) setConnectionError(this, undefined)
    this.#hasAnswered = true
    for (const [i, { resolve, reject }] of sent.entries()) {
      const answer = answers[i] as Answer | undefined
      if (answer !== undefined && 'value' in answer) resolve(answer.value)
      else reject(new StoreError(`The primary process failed: ${answer?.error ?? 'it sent no answer'}.`))
    }
  }

  end(): void {
    this.#end = ended()
    const all = [...this.#unanswered.values()].flat()
    this.#unanswered.clear()
    for (const { reject } of all) reject(ended())
    for (const { reject } of this.#takeWaiting()) reject(markUnsent(ended()))
  }

  #takeWaiting(): readonly Waiting[] {
    const all = this.#waiting
    this.#waiting = []
    return all
  }

  #flush(): void {
    const inTime: Waiting[] = []
    for (const each of this.#takeWaiting()) {
      if (isExpired(each.deadline)) each.reject(expiredError())
      else inTime.push(each)
    }
    for (let i = 0; i < inTime.length; i += MAX_CALLS) this.#send(inTime.slice(i, i + MAX_CALLS))
  }

  #send(calls: readonly Waiting[]): void {
    const id = ++this.#id
    this.#unanswered.set(id, calls)
    this.#dropOldest()
    if (!this.#hasAnswered) setConnectionError(this, new Error(noAnswer(this.#name)))
    const fail = (error: unknown): void => {
      this.#unanswered.delete(id)
      for (const { reject } of calls)
        reject(markUnsent(new StoreError(`The channel to the primary process failed: ${formatThrown(error)}.`, error)))
    }
    try {
      const isReady = thisProcess().send?.(
        messageOf(requestOf(this.#name, id, calls)),
        undefined,
        undefined,
        (error) => {
          if (error) fail(error)
          if (!this.#isFull) return
          this.#isFull = false
          this.#flush()
        },
      )
      if (isReady === false) this.#isFull = true
    } catch (error) {
      fail(error)
    }
  }

  /** While the primary reads nothing, only calls in time wait: their deadlines are about in order. */
  #dropExpired(): void {
    const inTime = this.#waiting.findIndex(({ deadline }) => !isExpired(deadline))
    for (const { reject } of this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime)) reject(expiredError())
  }

  #dropOldest(): void {
    const [oldest] = this.#unanswered.size > MAX_UNANSWERED ? this.#unanswered : []
    if (oldest === undefined) return
    this.#unanswered.delete(oldest[0])
    for (const { reject } of oldest[1]) reject(new StoreError('The primary process has lost the call.'))
  }
}

/** The channel of a name, of all copies of this module in the process: each answer is read once. */
export function channelOf(name: string): Channel {
  const channels = processState('channels to the primary', listening)
  const known = channels.get(name) ?? new Channel(name)
  channels.set(name, known)
  return known
}

function listening(): Map<string, Channel> {
  const channels = new Map<string, Channel>()
  const process = thisProcess()
  process.on('message', (message) => {
    const reply = dataOf<Reply>(message)
    if (reply !== undefined) channels.get(reply.name)?.receive(reply)
  })
  process.once('disconnect', () => {
    for (const channel of channels.values()) channel.end()
  })
  // Each of the two listeners would keep the process running that has nothing else to do.
  for (let i = 0; i < 2; i++) process.channel?.unrefCounted?.()
  return channels
}

const ended = (): StoreError =>
  new StoreError('The primary process has ended, or has closed the channel to this one: its store is lost.')

const noAnswer = (name: string): string =>
  `the primary has not answered yet. It must call primaryStore() with the name '${name}', and serve(child) for a child of fork().${isUnderPm2() ? ` ${UNDER_PM2}` : ''}`

// Runs after all requests of this tick have reached the store. Bound at load: fake timers would stop it.
declare const setImmediate: (callback: () => void) => unknown
const afterTick = setImmediate
