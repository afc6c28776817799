import { Catch, type ExceptionFilter, Inject } from '@nestjs/common'

/** What `RateLimitModule` provides, by a name that the errors of Nest show. */
export const RATE_LIMIT_MODULE = 'RateLimitModule'

class Nothing {}

/**
 * A filter that catches nothing. Nest makes it for each class that a decorator changes, and does not start if no module
 * provides what it needs: without the module, no decorator would have an effect.
 */
export class RequireModule implements ExceptionFilter<Nothing> {
  constructor(_module: unknown) {}

  catch(): void {}
}

Catch(Nothing)(RequireModule)
Inject(RATE_LIMIT_MODULE)(RequireModule, undefined, 0)
