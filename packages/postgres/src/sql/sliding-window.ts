import { fieldsOf, partOf, SLIDING_WINDOW_STEP, WINDOW } from './layout.ts'
import type { Names } from './names.ts'

const step = fieldsOf('step', SLIDING_WINDOW_STEP)
const starts = partOf('step', SLIDING_WINDOW_STEP, 'start1', 'start4')
const state = fieldsOf('state', WINDOW)
const base = fieldsOf('base', WINDOW)

/**
 * The sliding-window kernel in SQL: the arithmetic of `kernels/sliding-window.ts` and `kernels/calendar.ts` of core. It compares
 * `float8` as core compares numbers: the counts of another quota in fewer ticks, up to 2^50 units, would overflow an `int8`.
 */
export const slidingWindowSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('start_at')}(now int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE ${step.clock} WHEN 0 THEN now ELSE now - (now + ${step.offset}) % ${step.clock} END
$$;

CREATE OR REPLACE FUNCTION ${fn('turned')}(state int8[], now int8, "window" int8, start int8) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN state IS NULL OR now - ${state.start} >= 2 * "window" THEN ARRAY[start, 0, 0]
    WHEN now < ${state.start} THEN ARRAY[start, ${state.current}, ${state.previous}]
    WHEN now - ${state.start} < "window" THEN state
    ELSE ARRAY[${state.start} + "window", 0, ${state.current}] END
$$;

CREATE OR REPLACE FUNCTION ${fn('window_at')}(starts int8[], state int8[], now int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  same_start CONSTANT int8 := 43200000000;
  i int := 1;
BEGIN
  WHILE i < 4 AND starts[i + 1] <= now LOOP i := i + 1; END LOOP;
  IF state IS NULL OR ${state.start} < starts[i] - same_start THEN RETURN ARRAY[starts[i], 0, 0]; END IF;
  IF ${state.start} > coalesce(starts[i + 1], starts[i]) + same_start THEN RETURN ARRAY[starts[i], ${state.current}, 0]; END IF;
  RETURN ARRAY[${state.start}, ${state.current}, 0];
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
  start CONSTANT int8 := ${base.start};
  give CONSTANT int8 := -${step.increment};
  since CONSTANT int8 := ${step.since};
  unknown CONSTANT bool := since = 0;
  in_previous CONSTANT bool := since = start - ${step.ticks} * ${step.tick};
  from_current int8 := 0; from_previous int8 := 0;
BEGIN
  IF unknown OR since = start THEN from_current := least(give, ${base.current}); END IF;
  IF unknown OR in_previous THEN from_previous := least(give - from_current, ${base.previous}); END IF;
  RETURN ARRAY[start, ${base.current} - from_current, ${base.previous} - from_previous];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('sliding_window')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ticks CONSTANT int8 := ${step.ticks};
  tick CONSTANT int8 := ${step.tick};
  base int8[]; rest int8; allowed bool; next int8[];
BEGIN
  base := CASE WHEN ${step.start4} > 0 THEN ${fn('window_at')}(${starts}, state, now)
    ELSE ${fn('turned')}(CASE WHEN ${step.fixed} = 0 OR now - ${state.start} < ticks * tick THEN state END, now, ticks * tick,
      ${fn('start_at')}(now, step)) END;
  rest := ticks - (now - ${base.start}) / tick;
  allowed := ${base.previous}::float8 * rest < (${step.limit} - ${base.current} - ${step.check} + 1)::float8 * ticks;
  next := CASE WHEN ${step.increment} < 0 THEN ${fn('sliding_window_less')}(base, step)
    ELSE ARRAY[${base.start}, least(${base.current} + ${step.increment}, ${step.most}), ${base.previous}] END;
  RETURN ARRAY[
    allowed::int::int8,
    (state IS NOT NULL OR ${step.increment} >= 0)::int::int8,
    (state IS NOT NULL AND ${state.start} > now AND base OPERATOR(pg_catalog.<>) state)::int::int8] || base || next;
END
$$;
`
