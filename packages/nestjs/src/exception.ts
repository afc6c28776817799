import { HttpException } from '@nestjs/common'
import type { Denial, RequestDecision } from '@spillway/core/http'

/**
 * A denied request. Its response is the problem document, and the rate limit headers are set on the framework's response
 * already, so filters of your own keep them.
 */
export class RateLimitException extends HttpException {
  /** The decision; undefined if the client has disconnected before it. */
  readonly decision: RequestDecision | undefined
  /** The answer to the client: status, media type, headers and body. */
  readonly denial: Denial

  constructor(denial: Denial, decision?: RequestDecision) {
    super(bodyOf(denial), denial.status)
    this.denial = denial
    this.decision = decision
  }
}

function bodyOf({ contentType, body }: Denial): string | Record<string, unknown> {
  if (!contentType.endsWith('json')) return body
  try {
    return JSON.parse(body)
  } catch {
    // A text of `onDenied` with this media type.
    return body
  }
}
