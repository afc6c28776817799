import { FRACTION, fieldsOf } from './layout.ts'
import { expirySql, type Names, SAFE_PATH } from './names.ts'

/** The counts of a row: of a bucket whose units take parts of a microsecond. */
const of = fieldsOf('t.counts', FRACTION)

/**
 * The fast path for the most common batch: takes of a continuously refilling bucket, all for one key with one step. It is
 * the bucket kernel as one conditional update. PostgreSQL prepares the expressions of a function again in each
 * transaction, so the update has few: it takes only from states with the usual sign and an expiry that is late enough.
 *
 * What the update leaves is read, stepped, and written if it is still what was read: a later expiry, a debt, another scale.
 * A new key is inserted. A batch whose first call does not fit is denied. Other cases use `take_calls`: a state of another
 * kernel, with refunds, or dated after now; room for some calls but not all; and a state that keeps changing between read
 * and write.
 *
 * Each number of a step is `tick − early / scale`. `early + x` is at least 0 and less than twice the scale, so that `/` is
 * the carry, and `%` is the rest. The clock is read before a take waits for the row's lock, which never over-admits.
 *
 * - `total`: the ticks of all calls. `most_ahead`: how far ahead of now the bucket may be full for the update; null if a
 *   new bucket lacks the units, or if the update could write a state with the other sign.
 * - `first_ahead`, `first_early`: how far ahead of now the bucket may be full for the first call to fit; `last_…`: for all.
 *   `steps`: the step, as `take_calls` reads it.
 * - The result is four numbers: now; 1 and the state after all calls, or 0 and the first call's `base`; the state as a tick
 *   and its early. Or that of `take_calls`, which has more.
 */
export const takeBucketSql = ({ table, fn }: Names): string => {
  const clock = 'coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)'
  const found = `CASE WHEN ${of.scale} = scale AND abs(t.tat) > now THEN ${of.early} ELSE 0 END`
  const usual = `WHERE t.name = state_name AND t.tat > 0 AND t.tat <= now + most_ahead
        AND t.expires >= greatest(t.tat, now) + total + 60000000`
  const signed = 'next * CASE WHEN next - now > ceiling THEN -1 ELSE 1 END'
  const counts = 'CASE WHEN scale > 1 THEN ARRAY[scale, next_early] END'
  const taken = "IF FOUND THEN RETURN concat_ws(' ', now, 1, next, next_early); END IF;"
  return `
CREATE OR REPLACE FUNCTION ${fn('take_bucket')}
  (state_name text, total int8, total_early int8, scale int8, most_ahead int8, calls int, ceiling int8,
   first_ahead int8, first_early int8, last_ahead int8, last_early int8, steps text,
   at int8, lock_timeout_ms text, async_commit bool) RETURNS text
LANGUAGE plpgsql ${SAFE_PATH} AS $$
DECLARE
  settings CONSTANT text := concat(set_config('lock_timeout', lock_timeout_ms, true),
    CASE WHEN async_commit THEN set_config('synchronous_commit', 'off', true) END);
  now int8 := ${clock};
  next int8; next_early int8 := 0; stored int8; base int8; early int8;
BEGIN
  IF scale = 1 THEN
    UPDATE ${table} t SET tat = greatest(t.tat, now) + total, counts = NULL
      ${usual} RETURNING t.tat INTO next;
  ELSE
    UPDATE ${table} t SET tat = greatest(t.tat - (${of.early} + total_early) / scale, now) + total,
        counts = ARRAY[scale, CASE WHEN t.tat > now THEN (${of.early} + total_early) % scale ELSE total_early END]
      ${usual} AND ${of.scale} = scale RETURNING t.tat, ${of.early} INTO next, next_early;
  END IF;
  ${taken}

  FOR attempt IN 1..3 LOOP
    SELECT t.tat, greatest(abs(t.tat), now), ${found}
      INTO stored, base, early FROM ${table} t WHERE t.name = state_name;
    IF FOUND THEN
      EXIT WHEN (stored - now <= ceiling) IS NOT TRUE;
      IF base - (early + first_early) / scale > now + first_ahead THEN RETURN concat_ws(' ', now, 0, base, early); END IF;
      EXIT WHEN base - (early + last_early) / scale > now + last_ahead;
      next := base + total - (early + total_early) / scale;
      next_early := (early + total_early) % scale;
      UPDATE ${table} t SET tat = ${signed}, counts = ${counts}, expires = ${expirySql('next', 't.expires')}
      WHERE t.name = state_name AND t.tat = stored AND ${found} = early;
    ELSE
      EXIT WHEN last_ahead < 0;
      next := now + total;
      next_early := total_early;
      INSERT INTO ${table} (name, tat, counts, expires)
      VALUES (state_name, ${signed}, ${counts}, ${expirySql('next')}) ON CONFLICT DO NOTHING;
    END IF;
    ${taken}
    now := ${clock};
  END LOOP;
  RETURN ${fn('take_calls')}(state_name, steps, rtrim(repeat('1 1 1 ', calls)), at, lock_timeout_ms, async_commit);
END
$$;
`
}
