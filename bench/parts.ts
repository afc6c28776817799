import type { Case } from './table.ts'

/** A part of the bench: cases by name, each of which is measured in a process of its own. */
export interface Part {
  /** Settings of Node that its processes need. */
  readonly execArgv?: readonly string[]
  /** How many processes measure each case, one after the other; 3 unless given. */
  readonly processes?: number
  readonly cases: Readonly<Record<string, Case>>
}

/** The parts, in the order in which they are run. Loaded only when asked for, because rivals run code when loaded. */
export const parts: Readonly<Record<string, () => Promise<Part>>> = {
  memory: () => import('./memory.ts'),
  'memory-bytes': () => import('./memory-bytes.ts'),
  redis: () => import('./redis.ts'),
  postgres: () => import('./postgres.ts'),
  scale: () => import('./scale.ts'),
  http: () => import('./http.ts'),
  profile: () => import('./profile.ts'),
}
