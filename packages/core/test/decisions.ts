import type { Decision } from '../src/index.ts'

/** A decision that allows 1 unit of 100, with the given parts changed. */
export const decisionOf = (parts: Partial<Decision> = {}): Decision => ({
  allowed: true,
  policy: 'default',
  limit: 100,
  remaining: 99,
  cost: 1,
  retryAfterMs: 0,
  resetAfterMs: 600,
  replenishAfterMs: 600,
  delayMs: 0,
  violated: [],
  ...parts,
})
