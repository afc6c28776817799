import { type Duration, QuotaError, shown } from '@spillway/core'
import { type Database, type Run, runOn } from './clients.ts'
import { millis, namesFrom, type TableOptions } from './options.ts'
import { failure, retrying } from './retry.ts'
import type { Names } from './sql/names.ts'
import { untilIn } from './until.ts'

/** What `sweep` takes besides the database. */
export interface SweepOptions extends TableOptions {
  /**
   * How many states one statement deletes, 1 to 100,000.
   * @default `1_000`
   */
  readonly batch?: number
}

/** How long one batch may take. */
const PATIENCE = 30_000

/**
 * Deletes the states that have expired, which are the same as none, and tells how many there were. Batch by batch, past
 * rows that somebody is using, along an index: takes go on meanwhile. Any process may do so at any time.
 */
export async function sweep(database: Database, options: SweepOptions = {}): Promise<number> {
  const { batch = 1_000, ...where } = options
  const names = namesFrom('sweep', where, ['table', 'schema', 'batch'])
  if (!Number.isSafeInteger(batch) || batch < 1 || batch > 100_000) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `sweep batch must be a whole number from 1 to 100000; got ${shown(batch)}.`,
    )
  }
  return sweepAll(runOn(database), names, batch)
}

export async function sweepAll(run: Run, { fn }: Names, batch = 1_000): Promise<number> {
  const query = { text: `SELECT ${fn('sweep')}($1) AS swept`, values: [batch] }
  let total = 0
  try {
    for (;;) {
      const [row] = await retrying(untilIn(PATIENCE), (left) => run(query, left))
      const { swept } = row as { swept: number }
      total += swept
      if (swept < batch) return total
    }
  } catch (error) {
    throw failure(error, PATIENCE)
  }
}

/** Sweeps again and again, without keeping the process alive. Answers how to end it. */
export function sweepingEvery(every: Duration | undefined, sweepOnce: () => Promise<unknown>): () => void {
  if (every === undefined) return () => {}
  // What one sweep leaves, because the database is away or the table is not there yet, the next one finds.
  const timer = setInterval(() => sweepOnce().catch(() => {}), millis('postgresStore sweepEvery', every))
  timer.unref?.()
  return () => clearInterval(timer)
}
