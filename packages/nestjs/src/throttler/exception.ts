import { HttpException, HttpStatus } from '@nestjs/common'

/** The default message of a `ThrottlerException`. */
export const throttlerMessage = 'ThrottlerException: Too Many Requests'

/** The exception for a denied request: status 429. */
export class ThrottlerException extends HttpException {
  constructor(message?: string) {
    super(message || throttlerMessage, HttpStatus.TOO_MANY_REQUESTS)
  }
}
