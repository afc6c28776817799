import type { Drop } from './permit.ts'

/** The answer to a request that was dropped. */
export interface Answer {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

const START =
  '{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints","status":503,"detail":"Too many requests are being served. Try again in '

/** 503 with a problem document (RFC 9457): nothing that the client did is the reason. */
export function answerOf({ retryAfterMs }: Drop): Answer {
  const millis = Math.ceil(retryAfterMs)
  const seconds = Math.ceil(millis / 1_000)
  return {
    status: 503,
    headers: [
      ['Retry-After', `${seconds}`],
      ['Content-Type', 'application/problem+json'],
    ],
    body: `${START}${seconds === 1 ? '1 second' : `${seconds} seconds`}.","retry-after-ms":${millis}}`,
  }
}
