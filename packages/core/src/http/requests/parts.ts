import type { Decision } from '../../algorithms/decision.ts'
import { NONE } from '../../algorithms/decision-of.ts'
import { type PathReadings, readPath } from './path.ts'
import type { RequestReader } from './reader.ts'
import type { RequestState } from './request-state.ts'

/** A request, each part of which is read once, however many policies need it, and what a guard keeps of it. */
export class RequestParts<R> implements RequestState<Decision> {
  readonly request: R
  /** What shows whether the response is over. */
  readonly response: unknown
  identity: object | undefined
  owner: object | undefined
  before: RequestState<Decision> | undefined
  value: Decision | undefined
  shownNames: RequestState<Decision>['shownNames']
  /** What is acquired beside the request's own units, and settled with them. It decides nothing. */
  beside: readonly unknown[] = NONE
  // Most policies need one part, the address: without a map.
  #first: string | undefined
  #firstValue: unknown
  #others: Map<string, unknown> | undefined

  constructor(request: R, response?: unknown) {
    this.request = request
    this.response = response
  }

  /** The part of this name, by `read` when it is needed first. */
  once<T>(name: string, read: (request: R) => T): T {
    if (this.#first === name) return this.#firstValue as T
    if (this.#others?.has(name)) return this.#others.get(name) as T
    const value = read(this.request)
    if (this.#first === undefined) {
      this.#first = name
      this.#firstValue = value
    } else {
      this.#others ??= new Map()
      this.#others.set(name, value)
    }
    return value
  }
}

type PathPart = 'path' | 'wholePath' | 'pathInMount'

/** The readings of a path of a request, for each text that its framework may take for it. */
export const pathsOf = <R>(
  parts: RequestParts<R>,
  reader: Pick<RequestReader<R>, PathPart>,
  part: PathPart,
): readonly PathReadings[] =>
  parts.once(part, (request) => {
    const known = parts.once('readings', () => new Map<string, PathReadings>())
    return [...new Set([reader[part]?.(request) ?? []].flat())].map((path) => {
      const readings = known.get(path) ?? readPath(path)
      known.set(path, readings)
      return readings
    })
  })
