import { processState } from '../../common/process-state.ts'

/** The state that a guard keeps of one request. */
export interface RequestState<T> {
  /** Identifies the request, because frameworks copy a request's properties, and make objects that inherit from it. */
  identity: object | undefined
  /** Identifies the guard; undefined if no policy of it applied, so that it may count the request when it passes again. */
  owner: object | undefined
  /** The state of the guard before this one. */
  before: RequestState<T> | undefined
  value: T | undefined
  /** The names of the guard's policies in headers, if they differ. */
  shownNames: ReadonlyMap<string, string> | undefined
}

/** The states that one guard keeps of requests. */
export interface RequestStates<T> {
  /** Makes this the state of a request, and reports whether it is: the guard may have one already. */
  begin(state: RequestState<T>, request: object): boolean
  /** The value that is stored for a request; undefined if it has none. */
  read(request: object): T | undefined
}

const mark = Symbol.for('spillway/1 request')
const noStates = (): WeakMap<object, RequestState<never>> => new WeakMap()
const statesBeside = (): WeakMap<object, RequestState<never>> => processState('requests', noStates)

interface Marked<T> {
  [mark]?: RequestState<T>
}

/** The state of the last guard. */
function lastOn<T>(request: Marked<T>, beside: WeakMap<object, RequestState<T>>): RequestState<T> | undefined {
  // Only own properties are read: a framework may have given the request a long prototype chain.
  const state = Object.hasOwn(request, mark) ? request[mark] : undefined
  return state?.identity === request ? state : beside.get(request)
}

/** The last value that any guard has stored for a request; if `earlier`, any guard but the last. */
export function lastValueOf<T>(request: object, earlier = false): T | undefined {
  const last = lastOn<T>(request, statesBeside())
  let state = earlier ? last?.before : last
  while (state !== undefined && state.value === undefined) state = state.before
  return state?.value
}

/**
 * Keeps the states on the requests themselves, under a symbol that all copies of this module share. A WeakMap would leave
 * requests unchanged, but costs more than the rest of a guard, because each garbage collection has to visit its entries.
 * It serves requests that cannot be extended, such as frozen ones.
 */
export function requestStatesFor<T>(): RequestStates<T> {
  const owner = {}
  const beside = statesBeside()
  const ownOf = (last: RequestState<T> | undefined): RequestState<T> | undefined => {
    let state = last
    while (state !== undefined && state.owner !== owner) state = state.before
    return state
  }
  return {
    begin: (state, request: Marked<T>) => {
      const before = lastOn<T>(request, beside)
      if (before !== undefined && ownOf(before) !== undefined) return false
      state.identity = request
      state.owner = owner
      state.before = before
      // Not asked before: engines take longer to find out whether an object can be extended. Sloppy code, as of CommonJS
      // modules, does not throw.
      try {
        request[mark] = state
      } catch {}
      if (request[mark] !== state) beside.set(request, state as RequestState<never>)
      return true
    },
    read: (request) => ownOf(lastOn<T>(request, beside))?.value,
  }
}
