import { QuotaError } from '@spillway/core'
import { checkBoolean, checkFunctions, formatValue } from '@spillway/core/internal'
import type { CommonOptions, ThrottlerOptions } from './options.ts'

/** Checks the options that one throttler and all of them can have. */
export function checkCommon(options: CommonOptions): void {
  checkFunctions(options, ['skipIf', 'getTracker', 'generateKey'])
  checkBoolean('setHeaders', options.setHeaders)
  const ignored: unknown = options.ignoreUserAgents ?? []
  if (Array.isArray(ignored) && ignored.every((each) => each instanceof RegExp)) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `ignoreUserAgents must be a list of regular expressions, such as [/bot/i]; got ${formatValue(ignored)}.`,
  )
}

/** The options that are numbers. */
type Numbers = Partial<Pick<ThrottlerOptions, 'limit' | 'ttl' | 'blockDuration'>>

/** Checks the numbers that are known before the first request. */
export function checkNumbers(name: string, throttler: Numbers): void {
  for (const option of ['limit', 'ttl', 'blockDuration'] as const) {
    const value = throttler[option]
    if (value !== undefined && typeof value !== 'function') toNumber(value, option, name)
  }
}

/** A limit or a time, which may be written as text. Throws if it is neither. */
export function toNumber(value: unknown, option: string, name: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number !== 'number' || Number.isNaN(number)) {
    throw invalid(option, name, `expected a number, got ${JSON.stringify(value)}.`)
  }
  if (option !== 'ttl' || number >= 0) return number
  throw invalid(
    option,
    name,
    `expected milliseconds, 0 or more, got ${number}: no request would be limited. Use seconds(60), or 0 to turn the throttler off.`,
  )
}

const invalid = (option: string, name: string, problem: string): Error =>
  new Error(`Invalid "${option}" for the "${name}" throttler: ${problem}`)
