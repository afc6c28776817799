import type { Names } from './names.ts'

/**
 * The sliding-window kernel in SQL: the arithmetic of `kernels/sliding-window.ts` and `kernels/calendar.ts` of core.
 *
 * A state is an array: start, current, previous. A step is kernel, peek, increment, check, limit, ticks, tick, most,
 * since, fixed, and the four starts of a calendar's periods. An outcome is allowed, whether the step leaves a state
 * (taken is next), whether a denial changes it (kept is base), then base and next.
 */
export const slidingWindowSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('turned')}(state int8[], now int8, "window" int8) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN state IS NULL OR now - state[1] >= 2 * "window" THEN ARRAY[now, 0, 0]
    WHEN now < state[1] THEN ARRAY[now, state[2], state[3]]
    WHEN now - state[1] < "window" THEN state
    ELSE ARRAY[state[1] + "window", 0, state[2]] END
$$;

CREATE OR REPLACE FUNCTION ${fn('window_at')}(starts int8[], state int8[], now int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  same_start CONSTANT int8 := 43200000000;
  i int := 1;
BEGIN
  WHILE i < 4 AND starts[i + 1] <= now LOOP i := i + 1; END LOOP;
  IF state IS NULL OR state[1] < starts[i] - same_start THEN RETURN ARRAY[starts[i], 0, 0]; END IF;
  IF state[1] > coalesce(starts[i + 1], starts[i]) + same_start THEN RETURN ARRAY[starts[i], state[2], 0]; END IF;
  RETURN ARRAY[state[1], state[2], 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('end_of')}(starts int8[], start int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce((SELECT min(each) FROM unnest(starts) each WHERE each > start + 43200000000),
    start + 43200000000 + starts[4] - starts[1])
$$;

CREATE OR REPLACE FUNCTION ${fn('sliding_window_less')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  start CONSTANT int8 := base[1];
  give CONSTANT int8 := -step[3];
  since CONSTANT int8 := step[9];
  unknown CONSTANT bool := since = 0;
  in_previous CONSTANT bool := since = start - step[6] * step[7];
  from_current int8 := 0; from_previous int8 := 0;
BEGIN
  IF unknown OR since = start THEN from_current := least(give, base[2]); END IF;
  IF unknown OR in_previous THEN from_previous := least(give - from_current, base[3]); END IF;
  RETURN ARRAY[start, base[2] - from_current, base[3] - from_previous];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('sliding_window')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ticks CONSTANT int8 := step[6];
  tick CONSTANT int8 := step[7];
  base int8[]; rest int8; allowed bool; next int8[];
BEGIN
  base := CASE WHEN step[14] > 0 THEN ${fn('window_at')}(step[11:14], state, now)
    ELSE ${fn('turned')}(CASE WHEN step[10] = 0 OR now - state[1] < ticks * tick THEN state END, now, ticks * tick) END;
  rest := ticks - (now - base[1]) / tick;
  allowed := base[3] * rest < (step[5] - base[2] - step[4] + 1) * ticks;
  next := CASE WHEN step[3] < 0 THEN ${fn('sliding_window_less')}(base, step)
    ELSE ARRAY[base[1], least(base[2] + step[3], step[8]), base[3]] END;
  RETURN ARRAY[
    allowed::int::int8,
    (state IS NOT NULL OR step[3] >= 0)::int::int8,
    (state IS NOT NULL AND state[1] > now AND base OPERATOR(pg_catalog.<>) state)::int::int8] || base || next;
END
$$;
`
