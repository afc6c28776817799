import type { OnClientClosed } from '../common/client-closed.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import type { ListItem, SortedList } from '../common/sorted-list.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import type { PolicyCheck } from '../policies/policy.ts'

/** How late a caller looks again that is not lost: timers are late while the event loop is blocked. */
const LATEST_MS = 1_000

let calls = 0

/** A caller that waits. Those who wait for the same states acquire in line: in the order of their calls. */
export class Caller {
  readonly checks: readonly PolicyCheck[]
  /** How long it waits, in line if it must. Without, it waits for its turn only: while its key is blocked, it is denied. */
  readonly maxWaitMicros: Micros | undefined
  /** The earlier it has called, the smaller. */
  readonly order: number = ++calls
  hasLeft = false
  readonly #startedMs = monotonicMs()
  readonly #onClientClosed: OnClientClosed
  readonly #line: SortedList<Caller>
  /** Undefined if it is not in line, or has been taken for lost. */
  #item: ListItem<Caller> | undefined
  /** Whether it has been called, and has not looked again yet. */
  #isCalled = false
  /** Undefined while it does not pause. */
  #callback: (() => void) | undefined
  /** When it looks again at the latest, if it is the first. */
  #dueMs = Infinity
  #unregister: (() => void) | undefined

  constructor(
    checks: readonly PolicyCheck[],
    maxWaitMicros: Micros | undefined,
    onClientClosed: OnClientClosed,
    line: SortedList<Caller>,
  ) {
    this.checks = checks
    this.maxWaitMicros = maxWaitMicros
    this.#onClientClosed = onClientClosed
    this.#line = line
  }

  /** How long it waits from now on. */
  left(): Micros {
    const { maxWaitMicros = Infinity } = this
    return Math.max(Math.ceil(maxWaitMicros - (monotonicMs() - this.#startedMs) * 1000), 0)
  }

  join(): void {
    this.#item ??= this.#line.add(this.order, this)
  }

  /** Whether none is ahead. One who has been taken for lost, as its store answered late, has its place again. */
  isFirst(): boolean {
    this.join()
    return this.#line.first === this.#item
  }

  leaveLine(): void {
    const item = this.#item
    if (!item) return
    this.#item = undefined
    this.#line.remove(item)
    if (this.#line.first === item.after) item.after?.value.call()
  }

  /** Lets it look again: it is the first now, the states have changed, or its client has left. */
  call(): void {
    this.#isCalled = true
    this.#callback?.()
  }

  /** Notices from now on if it leaves; also if it has left. */
  listen(): void {
    this.#unregister ??= this.#onClientClosed(() => {
      this.hasLeft = true
      this.call()
    })
  }

  end(): void {
    this.#unregister?.()
  }

  /** Calls back when the caller should look again. Returns how to stop. */
  onCall(callback: () => void): () => void {
    this.#callback = callback
    this.listen()
    if (this.#isCalled) callback()
    return () => {
      this.#callback = undefined
      this.#isCalled = false
    }
  }

  /** Notes within what time it looks again, if it is the first. */
  expect(millis: number): void {
    this.#dueMs = monotonicMs() + millis
  }

  /** Resolves when it has to look again: with whether the time is over. */
  async pause(millis: number): Promise<boolean> {
    let stops: readonly (() => void)[] = []
    this.expect(millis)
    try {
      return await new Promise((resolve) => {
        stops = [setLongTimeout(millis, () => resolve(true)), this.onCall(() => resolve(false))]
      })
    } finally {
      for (const stop of stops) stop()
    }
  }

  /**
   * Removes those ahead who do not look again when they should, and resolves with whether none is ahead then. Workers stop a
   * request whose client has left: it then never leaves the line.
   */
  async passLost(): Promise<boolean> {
    while (!this.isFirst() && this.#line.first?.value.leaveIfLost()) {
      await new Promise<void>((resolve) => setLongTimeout(0, resolve))
    }
    return this.isFirst()
  }

  leaveIfLost(): boolean {
    const isLost = (this.#isCalled && this.#callback !== undefined) || monotonicMs() > this.#dueMs + LATEST_MS
    if (isLost) this.leaveLine()
    return isLost
  }
}
