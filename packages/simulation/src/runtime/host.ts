import { type Globals, useGlobals } from './globals.ts'
import { Heap } from './heap.ts'
import type { Random } from './random.ts'
import { START, type World } from './world.ts'

interface Timer {
  readonly due: number
  readonly order: number
  callback: (() => void) | undefined
  unref(): void
}

interface Immediate {
  callback: (() => void) | undefined
}

interface Arrival {
  readonly callback: () => void
  readonly onLost: (() => void) | undefined
}

/** What a process's clocks do. */
export interface HostClocks {
  /** How much faster the clocks go than time: 0.0001 is 100 ppm. */
  readonly drift: number
}

/**
 * A simulated process with the event loop of Node: due timers, then what has arrived, then what `setImmediate` has
 * scheduled; microtasks after each callback. The loop reads its clock in whole milliseconds, so that a timer may fire a
 * fraction of a millisecond early.
 */
export class Host implements Globals {
  readonly name: string
  isAlive = true
  /** The sum of all stalls in microseconds. */
  stalled = 0
  readonly #world: World
  readonly #random: Random
  /** How much faster than time the clocks go. */
  readonly drift: number
  readonly #started: number
  #wallStep = 0
  /** The sum of the times for which the machine has slept. */
  #slept = 0
  #busyUntil = 0
  #wakesAt = Number.POSITIVE_INFINITY
  #loopMs = 0
  #phase: 'timers' | 'poll' | 'check' = 'timers'
  #order = 0
  readonly #timers = new Heap<Timer>()
  #arrived: Arrival[] = []
  #polled: Arrival[] = []
  #immediates: Immediate[] = []
  #checked: Immediate[] = []

  constructor(world: World, name: string, { drift }: HostClocks) {
    this.#world = world
    this.#random = world.random.fork()
    this.name = name
    this.drift = drift
    this.#started = world.now
  }

  now(): number {
    return ((this.#world.now - this.#started - this.#slept) * (1 + this.drift)) / 1000
  }
  wall(): number {
    return Math.floor((START + this.#world.now * (1 + this.drift) + this.#wallStep) / 1000)
  }
  random(): number {
    return this.#random.float()
  }
  setTimeout(callback: () => void, millis: number): Timer {
    const span = millis >= 1 ? Math.trunc(millis) : 1
    const timer = { due: Math.floor(this.now()) + span, order: this.#order++, callback, unref: () => {} }
    this.#timers.add(timer)
    return timer
  }
  clearTimeout(timer: object): void {
    ;(timer as Timer).callback = undefined
  }
  setImmediate(callback: () => void): Immediate {
    const immediate = { callback }
    this.#immediates.push(immediate)
    return immediate
  }
  clearImmediate(immediate: object): void {
    ;(immediate as Immediate).callback = undefined
  }

  /**
   * Lets the event loop poll `callback`, such as a request or an answer that has arrived; `onLost` if the process ends
   * first.
   */
  receive(callback: () => void, onLost?: () => void): void {
    if (this.isAlive) {
      this.#arrived.push({ callback, onLost })
      this.#wakeAt(this.#world.now)
    } else onLost?.()
  }
  /** Stops the process for some microseconds: a callback that blocks, or a pause of the machine. Its clocks go on. */
  stall(micros: number): void {
    this.#busyUntil = Math.max(this.#busyUntil, this.#world.now + micros)
    this.stalled += micros
  }
  /** Stops the process, and its clock but the wall clock, as a machine that sleeps does. */
  sleep(micros: number): void {
    this.stall(micros)
    this.#slept += micros
  }
  /** Sets the wall clock forward or back. */
  stepWall(micros: number): void {
    this.#wallStep += micros
  }
  kill(): void {
    this.isAlive = false
    for (const { onLost } of [...this.#polled, ...this.#arrived]) onLost?.()
  }

  #wakeAt(due: number): void {
    if (due >= this.#wakesAt) return
    this.#wakesAt = due
    this.#world.at(due, () => {
      if (this.#wakesAt !== due) return
      this.#wakesAt = Number.POSITIVE_INFINITY
      this.#step()
    })
  }
  #step(): void {
    if (!this.isAlive) return
    const isBusy = this.#world.now < this.#busyUntil
    const callback = isBusy ? undefined : this.#next()
    if (isBusy) this.#wakeAt(this.#busyUntil)
    else if (callback === undefined) this.#sleep()
    else {
      useGlobals(this)
      callback()
      this.#wakeAt(this.#world.now)
    }
  }
  #sleep(): void {
    const timer = this.#firstTimer()
    if (timer === undefined) return
    const due = this.#started + this.#slept + (timer.due * 1000) / (1 + this.drift)
    this.#wakeAt(Math.max(Math.ceil(due), this.#world.now + 1))
  }
  #firstTimer(): Timer | undefined {
    while (this.#timers.first && this.#timers.first.callback === undefined) this.#timers.remove()
    return this.#timers.first
  }
  #updateLoopTime(): void {
    this.#loopMs = Math.floor(this.now())
  }

  /** The next callback of the event loop; undefined if it has nothing to do. */
  #next(): (() => void) | undefined {
    for (;;) {
      const callback = this.#nextOfPhase()
      if (callback) return callback
      if (this.#phase === 'timers') {
        this.#phase = 'poll'
        this.#updateLoopTime()
        this.#polled = this.#arrived
        this.#arrived = []
      } else if (this.#phase === 'poll') {
        this.#phase = 'check'
        this.#checked = this.#immediates
        this.#immediates = []
      } else {
        this.#phase = 'timers'
        this.#updateLoopTime()
        const timer = this.#firstTimer()
        const isIdle = this.#arrived.length === 0 && this.#immediates.length === 0
        if (isIdle && (timer === undefined || timer.due > this.#loopMs)) return undefined
      }
    }
  }
  #nextOfPhase(): (() => void) | undefined {
    if (this.#phase === 'poll') return this.#polled.shift()?.callback
    if (this.#phase === 'check') {
      for (let next = this.#checked.shift(); next; next = this.#checked.shift()) if (next.callback) return next.callback
      return undefined
    }
    const timer = this.#firstTimer()
    return timer && timer.due <= this.#loopMs ? this.#timers.remove()?.callback : undefined
  }
}
