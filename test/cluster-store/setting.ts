/** What a program does. */
export interface Setting {
  readonly task: 'race' | 'probe' | 'suite' | 'flood' | 'idle' | 'misplaced' | 'tick'
  readonly via: 'cluster' | 'fork'
  readonly workers: number
  /** The stores that the primary sets up, by name. */
  readonly names: readonly string[]
  readonly restarts?: boolean
  readonly serialization?: 'json' | 'advanced'
}

/** What a process has written. */
export type Line = Readonly<Record<string, unknown>>
