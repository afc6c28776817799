import type { H3Event } from 'h3'

/** What has headers: a `Response`, and h3's own `HTTPResponse`. */
interface Answer {
  readonly headers?: Headers
}

/** The headers of the answers to requests, and those that were staged for them, which h3 forgets. */
const answers = new WeakMap<H3Event, readonly (Headers | undefined)[]>()

/** Keeps the headers of an answer until it has been sent. */
export function keepAnswer<T>(event: H3Event, answer: T): T {
  const { headers } = Object(answer) as Answer
  answers.set(event, [event.res.headers, headers instanceof Headers ? headers : undefined])
  return answer
}

/** The value of a header of the answer to a request. */
export const answeredHeader = (event: H3Event, name: string): string | undefined =>
  answers
    .get(event)
    ?.map((headers) => headers?.get(name))
    .find(Boolean) ?? undefined
