/** What is noted about one request. */
export interface Note<T> {
  /** Told apart from a copy of the request, which the note would be copied with, and from what inherits from it. */
  readonly about: object
  text: T | undefined
}

/** What one guard notes about requests. */
export interface Notes<T> {
  /** Opens the note on a request, to be written; undefined if that has been done. */
  begin(request: object): Note<T> | undefined
  /** What was written on a request; undefined if nothing was. */
  read(request: object): T | undefined
}

/**
 * Notes on the requests themselves, under a symbol that nobody else has. A WeakMap would leave requests as they are, but
 * costs more than all else a guard does: an entry of it has to be told dead from alive at each collection of garbage. It
 * is for requests that take no notes, such as frozen ones.
 */
export function notesOnRequests<T>(): Notes<T> {
  const mark = Symbol('spillway')
  const beside = new WeakMap<object, Note<T>>()
  const noteOn = (request: { [mark]?: Note<T> }): Note<T> | undefined => {
    // Looked for on the request alone: a framework may have put a chain of prototypes behind it.
    const note = Object.hasOwn(request, mark) ? request[mark] : undefined
    if (note?.about === request) return note
    return Object.isExtensible(request) ? undefined : beside.get(request)
  }
  return {
    begin: (request: { [mark]?: Note<T> }) => {
      if (noteOn(request) !== undefined) return undefined
      const note: Note<T> = { about: request, text: undefined }
      if (Object.isExtensible(request)) request[mark] = note
      else beside.set(request, note)
      return note
    },
    read: (request) => noteOn(request)?.text,
  }
}
