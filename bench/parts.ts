import type { Case } from './table.ts'

/** A part of the bench: cases by name. Each case is measured in its own process. */
export interface Part {
  /** Settings of Node that its processes need. */
  readonly execArgv?: readonly string[]
  /**
   * How many processes measure each case, one after the other.
   * @default `3`
   */
  readonly processes?: number
  readonly cases: Readonly<Record<string, Case>>
}

/** The parts, in order. Each is loaded on demand, because rivals run code when they are loaded. */
export const parts: Readonly<Record<string, () => Promise<Part>>> = {
  memory: () => import('./memory.ts'),
  'memory-bytes': () => import('./memory-bytes.ts'),
  redis: () => import('./redis.ts'),
  postgres: () => import('./postgres.ts'),
  plans: () => import('./plans.ts'),
  shed: () => import('./shed.ts'),
  scale: () => import('./scale.ts'),
  http: () => import('./http.ts'),
  instructions: () => import('./instructions.ts'),
  profile: () => import('./profile.ts'),
  size: () => import('./size.ts'),
  start: () => import('./start.ts'),
  logs: () => import('./logs.ts'),
}
