import { type Json, type Learned, type ReadShape, shapeOf, type Values } from './json-shape.ts'

/** The shapes that are tried on a line: a log has few, such as that of a request with a user and that of one without. */
const MOST = 4
/** The shapes that are learned before this is given up: to compile one takes as long as a hundred lines. */
const MOST_LEARNED = 64
/** How many lines may have no known shape in a row, on balance, before this is given up: to try takes time as well. */
const PATIENCE = 2000

/** The shapes of the lines of a log, as they occur. */
export class JsonShapes {
  readonly #known: readonly string[]
  readonly #areUsable: (values: Values) => boolean
  #shapes: ReadShape[] = []
  #learned = 0
  #patience = PATIENCE

  /**
   * `known` are all paths whose values policies may read. A line whose picked values are not usable has another shape:
   * others would be picked.
   */
  constructor(known: readonly string[], areUsable: (values: Values) => boolean) {
    this.#known = known
    this.#areUsable = areUsable
  }

  /** The values of a line that has a known shape, in the order of the paths that were picked when it was learned. */
  read(line: string): Values | undefined {
    if (this.#patience <= 0) return undefined
    const shapes = this.#shapes
    for (let i = 0; i < shapes.length; i++) {
      const values = (shapes[i] as ReadShape)(line)
      if (values === undefined || !this.#areUsable(values)) continue
      if (this.#patience < PATIENCE) this.#patience++
      if (i > 0) this.#toFront(i)
      return values
    }
    this.#patience--
    return undefined
  }

  /** Learns the shape of a line that has none of the known. */
  learn(line: string, json: Json, learned: () => Learned): void {
    if (this.#learned >= MOST_LEARNED || this.#patience <= 0) return
    const shape = shapeOf(line, json, learned(), this.#known)
    if (shape === undefined) return
    this.#learned++
    this.#shapes = [shape, ...this.#shapes.slice(0, MOST - 1)]
  }

  #toFront(i: number): void {
    const [shape] = this.#shapes.splice(i, 1)
    if (shape) this.#shapes.unshift(shape)
  }
}
