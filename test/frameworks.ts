/**
 * Whether the frameworks are the oldest that the adapters support: `vitest.config.ts`. Lean entries are tested on the newest
 * only: what they read of a framework and write to it is what full entries do.
 */
export const areOldest = process.env['FRAMEWORKS'] === 'oldest'
