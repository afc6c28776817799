import { type Names, SAFE_PATH } from './names.ts'

/**
 * The functions that processes of version 9 and earlier call, while they are replaced one by one. The names of a function's
 * parameters cannot be replaced, so these have those of version 9. They run before and after the migration, on the same
 * rows as those of this version: the migration drops nothing, because a call under way would fail. The first version
 * that no such process can meet drops these three, and the helpers of version 9 that nothing else calls: `tick_of`,
 * `full_tick`, `full_moment` and `state_at` of int8 alone, `returned_by` whose step is last, `spent_at`, `bucket_state`,
 * and `bucket` of four arguments.
 *
 * The steps of `take_all` begin with how many numbers a step has. Until version 2 they had fifteen, without that number.
 */
export const earlierSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('take_all')}(names text, steps text, calls text, at int8, patience text, lazy bool) RETURNS text
LANGUAGE sql ${SAFE_PATH} AS $$
  SELECT ${fn('take_calls')}($1, CASE WHEN $2 LIKE '24 %' THEN substr($2, 4) ELSE (
    SELECT string_agg(array_to_string(n[15 * k - 14:15 * k], ' ') || ' 0 0 1 0 0 0 0 0 0', ' ' ORDER BY k)
    FROM (SELECT string_to_array($2, ' ') AS n) numbers, generate_series(1, cardinality(n) / 15) k) END, $3, $4, $5, $6)
$$;

CREATE OR REPLACE FUNCTION ${fn('take_same')}
  (named text, times int, increment int8, needed int8, tolerance int8, ceiling int8, patience int8,
   at int8, lock_patience text, lazy bool) RETURNS text
LANGUAGE sql ${SAFE_PATH} AS $$
  SELECT ${fn('take_calls')}($1, concat_ws(' ', 1, 0, $3, $4, $5, $6, $7, '0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0'),
    rtrim(repeat('1 1 1 ', $2)), $8, $9, $10)
$$;

CREATE OR REPLACE FUNCTION ${fn('take_fraction')}
  (named text, times int, scale int8, total int8, total_early int8, first int8, first_early int8, last int8, last_early int8,
   ceiling int8, patience int8, steps text, at int8, lock_patience text, lazy bool) RETURNS text
LANGUAGE sql ${SAFE_PATH} AS $$ SELECT ${fn('take_calls')}($1, substr($12, 4), rtrim(repeat('1 1 1 ', $2)), $13, $14, $15) $$;
`
