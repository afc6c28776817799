import { afterEach, beforeEach } from 'vitest'

/** The reasons of the promises that were rejected unhandled in the test that runs. Node reports them after a turn of the event loop. */
export function unhandledRejections(): readonly unknown[] {
  const reasons: unknown[] = []
  const listen = (reason: unknown) => void reasons.push(reason)
  beforeEach(() => {
    reasons.length = 0
    process.on('unhandledRejection', listen)
  })
  afterEach(() => void process.off('unhandledRejection', listen))
  return reasons
}
