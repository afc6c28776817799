/** Messages or timers that all take the same time: the first in is the first out. */
export class Wire {
  readonly #delay: number
  readonly #deliver: (id: number, now: number) => void
  #due = new Float64Array(1024)
  #ids = new Uint32Array(1024)
  #first = 0
  #count = 0

  constructor(delay: number, deliver: (id: number, now: number) => void) {
    this.#delay = delay
    this.#deliver = deliver
  }

  /** When the next one arrives. */
  get next(): number {
    return this.#count === 0 ? Number.POSITIVE_INFINITY : (this.#due[this.#first] as number)
  }

  send(id: number, now: number): void {
    if (this.#count === this.#ids.length) this.#grow()
    const at = (this.#first + this.#count++) & (this.#ids.length - 1)
    this.#due[at] = now + this.#delay
    this.#ids[at] = id
  }

  deliver(): void {
    const [id, now] = [this.#ids[this.#first] as number, this.next]
    this.#first = (this.#first + 1) & (this.#ids.length - 1)
    this.#count--
    this.#deliver(id, now)
  }

  #grow(): void {
    const [due, ids, length] = [this.#due, this.#ids, this.#ids.length]
    this.#due = new Float64Array(length * 2)
    this.#ids = new Uint32Array(length * 2)
    for (let i = 0; i < length; i++) {
      this.#due[i] = due[(this.#first + i) & (length - 1)] as number
      this.#ids[i] = ids[(this.#first + i) & (length - 1)] as number
    }
    this.#first = 0
  }
}
