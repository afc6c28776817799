import { type Duration, QuotaError } from '@spillway/core'
import { formatValue } from '@spillway/core/internal'
import { millis, untilIn } from '@spillway/stores/internal'
import { type Database, type Run, runOn } from './clients.ts'
import { namesFrom, type TableOptions } from './options.ts'
import { failure, retrying } from './retry.ts'
import type { Names } from './sql/names.ts'

/** Options of `sweep`. */
export interface SweepOptions extends TableOptions {
  /**
   * The maximum number of states that one statement deletes, 1 to 100,000.
   * @default `1_000`
   */
  readonly batch?: number
}

/** The timeout of one batch, in milliseconds. */
const TIMEOUT_MS = 30_000

/**
 * Deletes expired states in batches, and returns how many there were. It uses an index and skips locked rows, so that
 * checks continue meanwhile. Any process may call it at any time.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if an option is invalid
 * @throws `StoreError` if the database fails, or a batch takes longer than 30 s
 */
export async function sweep(database: Database, options: SweepOptions = {}): Promise<number> {
  const names = namesFrom('sweep', options, ['table', 'schema', 'batch'])
  const { batch = 1_000 } = options
  if (!Number.isSafeInteger(batch) || batch < 1 || batch > 100_000) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `sweep batch must be a whole number from 1 to 100000; got ${formatValue(batch)}.`,
    )
  }
  return sweepAll(runOn(database), names, batch)
}

export async function sweepAll(run: Run, { call }: Names, batch = 1_000): Promise<number> {
  const query = { text: `SELECT ${call('sweep', 'int4')} AS swept`, values: [batch] }
  let total = 0
  try {
    for (;;) {
      const [row] = await retrying(untilIn(TIMEOUT_MS), (left) => run(query, left))
      const swept = Number((row as { swept: unknown }).swept)
      total += swept
      if (swept < batch) return total
    }
  } catch (error) {
    throw failure(error, TIMEOUT_MS)
  }
}

/** Sweeps at intervals, without keeping the process alive. Returns a function that stops it. */
export function sweepingEvery(every: Duration | undefined, sweepOnce: () => Promise<unknown>): () => void {
  if (every === undefined) return () => {}
  let isSweeping = false
  const sweepAlone = async (): Promise<void> => {
    // One that waits, such as for the table, has a connection of the pool: further ones would use up the others.
    if (isSweeping) return
    isSweeping = true
    // Errors are ignored: if the database is down or the table is missing, the next sweep deletes the states.
    await sweepOnce().catch(() => {})
    isSweeping = false
  }
  const timer = setInterval(sweepAlone, millis('postgresStore sweepEvery', every))
  timer.unref?.()
  return () => clearInterval(timer)
}
