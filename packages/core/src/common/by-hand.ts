import { formatValue, QuotaError } from './errors.ts'

/** Whether a value has a method. */
export const hasMethod = (value: unknown, name: string): boolean =>
  typeof (value as Readonly<Record<string, unknown>> | null | undefined)?.[name] === 'function'

/**
 * The error for a limiter that is called without the arguments that its framework passes. It is thrown before the store is
 * called: afterwards, it would be a rejection that nothing handles, and end the process.
 */
export const calledByHand = (call: string, args: readonly unknown[]): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `rateLimit is called as ${call}; got (${args.map(formatValue).join(', ')}). For what is no HTTP request, ` +
      'write await rateLimiter({ quota, store }).consume(key).',
  )
