import type { Header } from './plain-join.ts'

/** Whole seconds, rounded up: a client that waits this long never retries early. */
export const seconds = (millis: number): number => Math.ceil(millis / 1000)

/** The part of Node's responses that sets headers. */
interface HeaderSink {
  setHeader(name: string, value: string): unknown
  appendHeader(name: string, value: string): unknown
}

/** Whether a header has a field for each value, so that it is added to those that are set. */
export const isCookie = (name: string): boolean => name.toLowerCase() === 'set-cookie'

/** Sets the headers of an answer on Node's response: instead of those of the same name, but cookies beside them. */
export function setAnswerHeaders(response: HeaderSink, headers: readonly Header[]): void {
  for (const [name, value] of headers) {
    if (isCookie(name)) response.appendHeader(name, value)
    else response.setHeader(name, value)
  }
}
