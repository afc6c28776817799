import type { Names } from './names.ts'

/**
 * The statement for what is asked most: one take of a bucket that refills continuously. The bucket kernel again, in the
 * same order with the same names, spread over a look and an upsert that takes only what fits: a function of few
 * expressions, which PostgreSQL prepares anew in each transaction.
 *
 * Whatever is unusual goes the way of everything else: a state that another kernel has written, or that is dated after
 * now, and units that others have taken between the look and the upsert, time and again. A look that finds too little
 * ends there, and has touched nothing. `needed` is the step's `check`.
 *
 * The upsert reads the clock when it has the row, and tells only what it wrote. What it took from was full at any moment
 * up to `tat - increment`: the earlier of that and the clock after the write is a moment at which the answer is right.
 */
export const takeOneSql = ({ table, fn }: Names): string => {
  const clock = 'coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)'
  const expiry = (state: string): string => `(abs(${state}) + 60000000) / 600000000 * 600000000 + 600000000`
  const signed = (next: string, now: string): string =>
    `CASE WHEN ${next} - ${now} > ceiling THEN -(${next}) ELSE ${next} END`
  return `
CREATE OR REPLACE FUNCTION ${fn('take_one')}
  (named text, increment int8, needed int8, tolerance int8, ceiling int8, patience int8,
   at int8, lock_patience text, lazy bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE seen record; made record;
BEGIN
  FOR attempt IN 1..3 LOOP
    SELECT k.now, b.base, b.base + needed - (k.now + patience) <= tolerance AS allowed,
      t.name IS NULL OR coalesce(t.tat < 0 OR t.tat - k.now <= ceiling, false) AS honest
    INTO seen
    FROM (SELECT ${clock} AS now, set_config('lock_timeout', lock_patience, true),
      CASE WHEN lazy THEN set_config('synchronous_commit', 'off', true) END) k
    LEFT JOIN ${table} t ON t.name = named
    CROSS JOIN LATERAL (SELECT greatest(abs(t.tat), k.now) AS base) b;
    EXIT WHEN NOT seen.honest;
    IF NOT seen.allowed THEN RETURN concat_ws(' ', seen.now, 0, seen.base, seen.base); END IF;

    INSERT INTO ${table} AS t (name, tat, expires)
    SELECT named, s.state, ${expiry('s.state')}
    FROM (SELECT ${signed('seen.now + increment', 'seen.now')} AS state) s
    ON CONFLICT (name) DO UPDATE SET (tat, expires) = (
      SELECT s.state, ${expiry('s.state')}
      FROM (SELECT ${clock} AS now) k
      CROSS JOIN LATERAL (SELECT greatest(abs(t.tat), k.now) + increment AS next) n
      CROSS JOIN LATERAL (SELECT ${signed('n.next', 'k.now')} AS state) s)
    WHERE (t.tat < 0 OR t.tat - ${clock} <= ceiling)
      AND greatest(abs(t.tat), ${clock}) + needed - (${clock} + patience) <= tolerance
    RETURNING abs(t.tat) AS tat, ${clock} AS now INTO made;
    IF FOUND THEN
      RETURN concat_ws(' ', least(made.now, made.tat - increment), 1, made.tat - increment, made.tat);
    END IF;
  END LOOP;
  RETURN ${fn('take')}(named, concat_ws(' ', 1, 0, increment, needed, tolerance, ceiling, patience,
    9007199254740991, 0, 0, 0, 0), '1 1 1', at, lock_patience, lazy);
END
$$;
`
}
