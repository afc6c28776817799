import { setTimeout } from 'node:timers/promises'

/** Stands for a slow query. */
export const reports = {
  make: (): Promise<string> => setTimeout(1_000, 'a report\n'),
}
