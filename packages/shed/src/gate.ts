import type { Clock } from './clock.ts'
import type { Limit } from './limit/limit.ts'
import type { Queue } from './queue/queue.ts'
import type { DropReason, Waiter } from './queue/waiter.ts'
import { Turn } from './turn.ts'

/** How a call has ended. */
export type Ending = 'success' | 'failure' | 'abort'

/** A call that is in flight. */
export interface Flight {
  readonly waitedMs: number
  /** Ends it. Only the first call has an effect. */
  end(ending: Ending): void
}

/** Called once with the flight of a caller, or with why it was dropped. */
export type Decided = (decision: Flight | DropReason) => void

/** How long a share of the limit is kept for the highest priority after its last call, in ms. */
const KEPT = 10_000

/** Lets calls through, as many at once as a limit says. The others wait in a queue. */
export class Gate {
  inFlight = 0
  readonly #limit: Limit
  readonly #queue: Queue
  readonly #reserve: number
  readonly #clock: Clock
  readonly #turn: Turn
  #criticalAt = Number.NEGATIVE_INFINITY
  #timer: { readonly at: number; readonly cancel: () => void } | undefined

  /**
   * `reserve` is the share of the limit that is kept for the highest priority. A turn of the event loop starts calls for `maxLag`
   * ms.
   */
  constructor(limit: Limit, queue: Queue, reserve: number, clock: Clock, maxLag: number) {
    this.#limit = limit
    this.#queue = queue
    this.#reserve = reserve
    this.#clock = clock
    this.#turn = new Turn(maxLag, clock, () => this.#serve(clock.now()))
  }

  get limit(): number {
    return this.#limit.current
  }

  get queued(): number {
    return this.#queue.size
  }

  get loopLagMs(): number {
    return this.#turn.lastMs
  }

  get isOverload(): boolean {
    return this.#queue.isOverload(this.#clock.now())
  }

  /** Decides about a caller, at once or later. Returns the function with which a caller that waits leaves. */
  enter(tier: number, key: string | undefined, decided: Decided): () => void {
    const now = this.#clock.now()
    if (tier === 0) this.#criticalAt = now
    this.#queue.dropLate(now)
    const hasRoom = this.#hasRoom(tier, now)
    if (hasRoom && this.#turn.hasTime && !this.#queue.isAhead(tier)) {
      decided(this.#start(now, 0))
      return nothing
    }
    if (!hasRoom) this.#limit.reached(false)
    let waiter: Waiter | undefined
    const joined = this.#queue.join(tier, key, now, (reason) => {
      waiter = undefined
      const at = this.#clock.now()
      decided(reason ?? this.#start(at, at - now))
    })
    if (typeof joined === 'string') {
      decided(joined)
      return nothing
    }
    waiter = joined
    this.#setTimer(now)
    return () => {
      if (waiter === undefined) return
      this.#queue.leave(waiter, this.#clock.now())
      waiter = undefined
    }
  }

  #start(now: number, waitedMs: number): Flight {
    this.inFlight += 1
    const turn = this.#turn.begin(now)
    this.#limit.started(now, this.inFlight)
    let isOver = false
    return {
      waitedMs,
      end: (ending) => {
        if (isOver) return
        isOver = true
        this.#end(now, ending, turn)
      },
    }
  }

  #end(startedAt: number, ending: Ending, turn: number): void {
    const now = this.#clock.now()
    this.#turn.end(turn, now - startedAt)
    this.inFlight -= 1
    // A failure says how long a failure takes, and an abort how long a client waits.
    this.#limit.ended(now, this.inFlight, ending === 'success' ? startedAt : undefined)
    this.#serve(now)
  }

  /** Serves a caller that waits, if there is room: the next one after it has started, as its start may take the time of the turn. */
  #serve(now: number): void {
    this.#queue.dropLate(now)
    if (!this.#turn.hasTime) return
    this.#queue.next(now, (tier) => this.#hasRoom(tier, now))?.decided(undefined)
    if (this.#queue.size > 0 && !this.#hasRoom(0, now)) this.#limit.reached(this.#queue.isOverload(now))
  }

  #hasRoom(tier: number, now: number): boolean {
    const limit = this.#limit.current
    const kept = tier > 0 && now - this.#criticalAt < KEPT ? Math.floor(limit * this.#reserve) : 0
    return this.inFlight < limit - kept
  }

  /** One timer, for the caller that is dropped first. */
  #setTimer(now: number): void {
    const at = this.#queue.dropAt(now)
    if (this.#timer && this.#timer.at <= at) return
    this.#timer?.cancel()
    this.#timer = undefined
    if (at === Infinity) return
    const cancel = this.#clock.after(at - now, () => {
      this.#timer = undefined
      const then = this.#clock.now()
      this.#queue.dropLate(then)
      this.#serve(then)
      this.#setTimer(then)
    })
    this.#timer = { at, cancel }
  }
}

const nothing = (): void => {}
