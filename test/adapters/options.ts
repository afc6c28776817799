import { memoryStore, perMinute } from '@spillway/memory'

export const TEXT = 'text/plain; charset=utf-8'
export const ETAG = '"v1"'

export type Options = ReturnType<typeof optionsAt>

/** Six units per minute, the cost in a header, and an injected clock. */
export const optionsAt = (clock: () => number) => ({
  name: 'app',
  quota: perMinute(6),
  cost: 'header:x-weight' as const,
  store: memoryStore({ clock }),
})
