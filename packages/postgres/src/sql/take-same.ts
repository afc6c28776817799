import { expirySql, type Names } from './names.ts'

/**
 * The fast path for the most common batch: takes of a continuously refilling bucket, all for one key with one step. It is
 * the bucket kernel as one conditional update, in the same order with the same names. PostgreSQL prepares a function's
 * expressions again in each transaction, so few expressions are fast. `needed` is the step's `check`.
 *
 * If not all calls fit, the update changes nothing, and a select reads the state. The clock is read first: a take that
 * waits for the row's lock counts from before the wait, which never over-admits. Other cases use `take_all`: a state of
 * another kernel, with refunds, or dated after now; a new key with a cost above its capacity; room for some calls but
 * not all; and a state that keeps changing between update and select.
 *
 * The first update is before the loop, which few takes enter: each further expression costs time.
 *
 * The result is three numbers: now, whether all are allowed or none, and the first call's `base`. Or that of `take_all`.
 */
export const takeSameSql = ({ table, fn }: Names): string => {
  const base = 'greatest(abs(t.tat), now)'
  const clock = 'coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)'
  const update = `UPDATE ${table} t SET
      tat = (${base} + total) * CASE WHEN ${base} + total - now > ceiling THEN -1 ELSE 1 END,
      counts = NULL, expires = ${expirySql(`(${base} + total)`, 't.expires')}
    WHERE t.name = named AND t.tat - now <= ceiling
      AND ${base} + total - increment + needed - (now + patience) <= tolerance
    RETURNING abs(t.tat) INTO next;
    IF FOUND THEN RETURN concat_ws(' ', now, 1, next - total); END IF;`
  return `
CREATE OR REPLACE FUNCTION ${fn('take_same')}
  (named text, times int, increment int8, needed int8, tolerance int8, ceiling int8, patience int8,
   at int8, lock_patience text, lazy bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  settings CONSTANT text := concat(set_config('lock_timeout', lock_patience, true),
    CASE WHEN lazy THEN set_config('synchronous_commit', 'off', true) END);
  total CONSTANT int8 := times * increment;
  now int8 := ${clock};
  base int8; next int8; state int8;
BEGIN
    ${update}

  FOR attempt IN 1..3 LOOP
    SELECT t.tat INTO state FROM ${table} t WHERE t.name = named;
    IF FOUND THEN
      now := ${clock};
      base := greatest(abs(state), now);
      EXIT WHEN coalesce(state - now > ceiling, true);
      IF base + needed - (now + patience) > tolerance THEN RETURN concat_ws(' ', now, 0, base); END IF;
      EXIT WHEN base + total - increment + needed - (now + patience) > tolerance;
    ELSE
      EXIT WHEN total - increment + needed - patience > tolerance;
      next := now + total;
      INSERT INTO ${table} (name, tat, expires)
      VALUES (named, next * CASE WHEN total > ceiling THEN -1 ELSE 1 END, ${expirySql('next')}) ON CONFLICT DO NOTHING;
      IF FOUND THEN RETURN concat_ws(' ', now, 1, now); END IF;
    END IF;
    now := ${clock};
    ${update}
  END LOOP;
  RETURN ${fn('take_all')}(named, concat_ws(' ', 24, 1, 0, increment, needed, tolerance, ceiling, patience,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0), rtrim(repeat('1 1 1 ', times)), at, lock_patience, lazy);
END
$$;
`
}
