/** The state that a guard keeps of one request. */
export interface Note<T> {
  /** Identifies the request, because frameworks copy a request's properties, and make objects that inherit from it. */
  readonly about: object
  /** Identifies the guard. */
  readonly owner: object
  /** The state of the guard before this one. */
  readonly before: Note<T> | undefined
  text: T | undefined
  /** The names of the guard's policies in headers, if they differ. */
  shownNames: ReadonlyMap<string, string> | undefined
}

/** The states that one guard keeps of requests. */
export interface Notes<T> {
  /** Creates the state of a request; undefined if there is one already. */
  begin(request: object): Note<T> | undefined
  /** The value that is stored for a request; undefined if there is none. */
  read(request: object): T | undefined
}

const mark = Symbol('spillway')
const beside = new WeakMap<object, Note<never>>()

/**
 * Keeps the states on the requests themselves, under a symbol of this module. A WeakMap would leave requests unchanged,
 * but costs more than the rest of a guard, because each garbage collection has to visit its entries. It serves requests
 * that cannot be extended, such as frozen ones.
 */
export function notesOnRequests<T>(): Notes<T> {
  const owner = {}
  const lastOn = (request: { [mark]?: Note<T> }): Note<T> | undefined => {
    // Only own properties are read: a framework may have given the request a long prototype chain.
    const note = Object.hasOwn(request, mark) ? request[mark] : undefined
    if (note?.about === request) return note
    return Object.isExtensible(request) ? undefined : beside.get(request)
  }
  const ownOf = (last: Note<T> | undefined): Note<T> | undefined => {
    let note = last
    while (note !== undefined && note.owner !== owner) note = note.before
    return note
  }
  return {
    begin: (request: { [mark]?: Note<T> }) => {
      const before = lastOn(request)
      if (ownOf(before) !== undefined) return undefined
      const note: Note<T> = { about: request, owner, before, text: undefined, shownNames: undefined }
      if (Object.isExtensible(request)) request[mark] = note
      else beside.set(request, note as Note<never>)
      return note
    },
    read: (request) => ownOf(lastOn(request))?.text,
  }
}
