/** The migration that a store runs before its first check. */
interface Migration {
  /** Settles when the migration ends; undefined if it has already succeeded. */
  ready(): Promise<void> | undefined
  /** Migrates again, if an error says that the table, a function or the schema is missing. */
  invalidate(error: unknown): void
}

/** Runs `migrate` once before other work, and again if it failed or the table is missing later. */
export function migratingOnce(migrate: () => Promise<void>): Migration {
  let done = false
  let running: Promise<void> | undefined
  const migrateOnce = async (): Promise<void> => {
    try {
      await migrate()
      done = true
    } finally {
      running = undefined
    }
  }
  return {
    ready() {
      if (done) return undefined
      running ??= migrateOnce()
      return running
    },
    invalidate(error) {
      if (isMissing(error)) done = false
    },
  }
}

/** Reports whether the table, a function or the schema does not exist: it was not created, or it was dropped. */
export const isMissing = (error: unknown): boolean =>
  ['42P01', '42883', '3F000'].includes((error as { code?: string }).code ?? '')
