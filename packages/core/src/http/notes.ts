/** What a guard has noted about one request. */
export interface Note<T> {
  /** Told apart from a copy of the request, which the note would be copied with, and from what inherits from it. */
  readonly about: object
  /** The notes of one guard. */
  readonly owner: object
  /** The note of the guard before this one. */
  readonly before: Note<T> | undefined
  text: T | undefined
  /** The names that clients read of the guard's policies, where they differ. */
  shownNames: ReadonlyMap<string, string> | undefined
}

/** What one guard notes about requests. */
export interface Notes<T> {
  /** Opens the note on a request, to be written; undefined if that has been done. */
  begin(request: object): Note<T> | undefined
  /** What was written on a request; undefined if nothing was. */
  read(request: object): T | undefined
}

const mark = Symbol('spillway')
const beside = new WeakMap<object, Note<never>>()

/**
 * Notes on the requests themselves, under a symbol of this module. A WeakMap would leave requests as they are, but costs
 * more than all else a guard does: an entry of it has to be told dead from alive at each collection of garbage. It is for
 * requests that take no notes, such as frozen ones.
 */
export function notesOnRequests<T>(): Notes<T> {
  const owner = {}
  const lastOn = (request: { [mark]?: Note<T> }): Note<T> | undefined => {
    // Looked for on the request alone: a framework may have put a chain of prototypes behind it.
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
