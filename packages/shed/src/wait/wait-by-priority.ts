import { type Decision, micros, RateLimitedError, type WaitOptions } from '@spillway/core'
import { checkOptions, checkSignal, hasMethod, invalidOption, oncePer } from '@spillway/core/internal'
import { type Priority, tierOf } from '../queue/waiter.ts'
import { systemClock } from '../system-clock.ts'
import { Turns, type WaitingLimiter } from './turns.ts'

export type { WaitingLimiter }

/** Options of `waitByPriority`. */
export interface PriorityWaitOptions extends WaitOptions {
  /**
   * The highest are served first.
   * @default `'default'`
   */
  readonly priority?: Priority
}

const linesOf = /* @__PURE__ */ oncePer('turns by priority', (_limiter: WaitingLimiter) => new Map<string, Turns>())

/**
 * Waits as `limiter.wait` does, but by priority: of the calls in this process that wait for a key, the highest priority is served
 * first, and those of one in the order of their calls. Rejects with a `RateLimitedError` after `maxWait`, or at once if it is certain to
 * be too short; with the reason of the signal if it aborts; with a `QuotaError` if an option is invalid.
 *
 * @example
 * const limiter = rateLimiter({ quota: perSecond(10) })
 * await waitByPriority(limiter, 'api', { priority: 'critical', maxWait: '2s' })
 */
export async function waitByPriority(
  limiter: WaitingLimiter,
  key: string,
  options: PriorityWaitOptions = {},
): Promise<Decision> {
  checkOptions('waitByPriority', options, ['priority', 'cost', 'maxWait', 'signal'])
  if (!hasMethod(limiter, 'wait'))
    throw invalidOption('waitByPriority needs a limiter with wait, as rateLimiter makes', limiter)
  const { priority = 'default', cost = 1, maxWait } = options
  const [tier, signal] = [tierOf(priority), checkSignal(options.signal)]
  const maxWaitMs = maxWait === undefined ? Infinity : maxWait === 0 ? 0 : micros(maxWait, 'maxWait') / 1_000
  if (signal?.aborted) throw signal.reason
  if (!linesOf(limiter).has(key)) {
    // No call waits: those that need no wait are sent together. A denial consumes nothing.
    const decision = await limiter.consume(key, cost)
    if (decision.allowed && !signal?.aborted) return decision
    if (decision.allowed) await limiter.refund(key, cost)
    if (signal?.aborted) throw signal.reason
    if (decision.retryAfterMs > maxWaitMs) throw new RateLimitedError(decision)
  }
  return await new Promise<Decision>((resolve, reject) => {
    let stops: readonly (() => void)[] = []
    const stop = (): void => {
      for (const each of stops) each()
    }
    const line = lineOf(limiter, key)
    const waiter = {
      cost,
      resolve: (decision: Decision) => {
        stop()
        resolve(decision)
      },
      reject: (reason: unknown) => {
        stop()
        reject(reason)
      },
    }
    const leave = line.join(tier, waiter)
    const stopTimer =
      maxWaitMs > LONGEST_TIMER
        ? nothing
        : systemClock.after(maxWaitMs, () => {
            leave()
            stop()
            resolve(denied(limiter, key, cost))
          })
    const abort = (): void => {
      leave()
      waiter.reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort)
    stops = [stopTimer, () => signal?.removeEventListener('abort', abort)]
  })
}

/** The longest time one timer can count, in ms: some 24.8 days. A call that may wait for longer has no deadline. */
const LONGEST_TIMER = 2 ** 31 - 1

const nothing = (): void => {}

function lineOf(limiter: WaitingLimiter, key: string): Turns {
  const lines = linesOf(limiter)
  const line = lines.get(key) ?? new Turns(limiter, key, () => void lines.delete(key))
  lines.set(key, line)
  return line
}

/** Rejects as the wait is over. Units that are available now are those of callers that go first. */
async function denied(limiter: WaitingLimiter, key: string, cost: PriorityWaitOptions['cost']): Promise<never> {
  const decision = await limiter.peek(key, cost)
  const { policy, allowed, violated, retryAfterMs, replenishAfterMs } = decision
  throw new RateLimitedError({
    ...decision,
    allowed: false,
    violated: allowed ? [policy] : violated,
    retryAfterMs: Math.max(retryAfterMs, allowed ? replenishAfterMs : 0, 1),
  })
}
