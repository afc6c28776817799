import { expirySql, type Names } from './names.ts'

/**
 * `take_same` for a bucket whose unit does not take whole microseconds: the same update, in the same order, with a second
 * column. Each number of a step is `tick − early / scale`, and the caller has made the sums that do not depend on the
 * state: `total` is what all calls take, `first` and `last` are what is compared for the first call and for all.
 * Each expression is prepared again in each transaction: `counts` is written even if the remainder is 0, and a row expires
 * up to a microsecond later than necessary. `early + x` is at least 0 and less than twice the scale, so that `/` is the
 * carry, and `%` is the rest.
 *
 * The result is four numbers: now; 1 and the state after all calls, or 0 and the `base`; each a tick and its `early`. Or
 * that of `take_all` with the text `steps`.
 */
export const takeFractionSql = ({ table, fn }: Names): string => {
  const clock = 'coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)'
  const base = 'greatest(abs(t.tat), now)'
  const early = 'CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END'
  const next = `(${base} + total - (${early} + total_early) / scale)`
  const update = `UPDATE ${table} t SET
      tat = ${next} * CASE WHEN ${next} - now > ceiling THEN -1 ELSE 1 END,
      counts = ARRAY[scale, (${early} + total_early) % scale],
      expires = ${expirySql(`(${base} + total)`, 't.expires')}
    WHERE t.name = named AND t.tat - now <= ceiling AND ${base} + last - (${early} + last_early) / scale <= now + patience
    RETURNING abs(t.tat), t.counts[2] INTO full_at, full_early;
    IF FOUND THEN RETURN concat_ws(' ', now, 1, full_at, full_early); END IF;`
  return `
CREATE OR REPLACE FUNCTION ${fn('take_fraction')}
  (named text, times int, scale int8, total int8, total_early int8, first int8, first_early int8, last int8, last_early int8,
   ceiling int8, patience int8, steps text, at int8, lock_patience text, lazy bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  settings CONSTANT text := concat(set_config('lock_timeout', lock_patience, true),
    CASE WHEN lazy THEN set_config('synchronous_commit', 'off', true) END);
  now int8 := ${clock};
  full_at int8; full_early int8; state int8;
BEGIN
    ${update}

  FOR attempt IN 1..3 LOOP
    SELECT t.tat, CASE WHEN t.counts[1] = scale THEN t.counts[2] ELSE 0 END INTO state, full_early FROM ${table} t WHERE t.name = named;
    IF FOUND THEN
      now := ${clock};
      full_at := greatest(abs(state), now);
      IF full_at = now THEN full_early := 0; END IF;
      EXIT WHEN coalesce(state - now > ceiling, true);
      IF full_at + first - (full_early + first_early) / scale > now + patience THEN
        RETURN concat_ws(' ', now, 0, full_at, full_early);
      END IF;
      EXIT WHEN full_at + last - (full_early + last_early) / scale > now + patience;
    ELSE
      EXIT WHEN last > patience;
      INSERT INTO ${table} (name, tat, counts, expires)
      VALUES (named, (now + total) * CASE WHEN total > ceiling THEN -1 ELSE 1 END,
        CASE WHEN total_early > 0 THEN ARRAY[scale, total_early] END, ${expirySql('(now + total)')}) ON CONFLICT DO NOTHING;
      IF FOUND THEN RETURN concat_ws(' ', now, 1, now + total, total_early); END IF;
    END IF;
    now := ${clock};
    ${update}
  END LOOP;
  RETURN ${fn('take_all')}(named, steps, rtrim(repeat('1 1 1 ', times)), at, lock_patience, lazy);
END
$$;
`
}
