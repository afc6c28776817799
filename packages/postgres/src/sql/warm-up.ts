import type { Names } from './names.ts'

/**
 * The warm-up kernel in SQL: the arithmetic of `kernels/warm-up.ts` of core.
 *
 * A state is an array of nine: written at, ahead, early, cold, scale, and zeros, as arrays of other lengths are of
 * other kernels. A step is kernel, peek, increment, check, tolerance, half, early, scale, until, untilEarly, cold. An
 * outcome is allowed, whether the step leaves a state (taken is next), whether a denial changes it (kept is base), then
 * base and next.
 */
export const warmUpSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('slowdown')}(cold int8, less int8, half int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  a CONSTANT int8 := greatest(cold - half, 0);
  b CONSTANT int8 := greatest(less - half, 0);
  high CONSTANT int8 := (a + b) / ${2 ** 17};
  low CONSTANT int8 := (a + b) % ${2 ** 17};
  product CONSTANT int8 := (a - b) * high;
BEGIN
  RETURN product / half * ${2 ** 17} + (product % half * ${2 ** 17} + (a - b) * low + half - 1) / half;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('found_warm_up')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  half CONSTANT int8 := step[6];
  scale CONSTANT int8 := step[8];
  remaining CONSTANT int8 := state[2] - greatest(now - state[1], 0);
BEGIN
  IF state IS NULL THEN RETURN ARRAY[now, 0, 0, 2 * half, scale, 0, 0, 0, 0]; END IF;
  IF remaining > 0 THEN
    RETURN ARRAY[now, remaining, CASE WHEN state[5] = scale THEN state[3] ELSE 0 END,
      least(state[4], 2 * half), scale, 0, 0, 0, 0];
  END IF;
  RETURN ARRAY[now, 0, 0, least(state[4] - remaining, 2 * half), scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('take_warm_up')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  scale CONSTANT int8 := step[8];
  tick int8 := base[2] + step[3];
  early int8 := base[3] + step[7];
  cold int8;
BEGIN
  IF early >= scale THEN tick := tick - 1; early := early - scale; END IF;
  cold := greatest(base[4] - (tick - base[2]), 0);
  RETURN ARRAY[base[1], tick + ${fn('slowdown')}(base[4], cold, step[6]), early, cold, scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('refund_warm_up')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  half CONSTANT int8 := step[6];
  scale CONSTANT int8 := step[8];
  known CONSTANT bool := step[9] <> ${Number.MAX_SAFE_INTEGER};
  last CONSTANT bool := base[1] + base[2] = step[9] AND base[3] = step[10];
  cold int8; tick int8; early int8;
BEGIN
  IF base[2] = 0 OR known AND NOT last THEN RETURN base; END IF;
  cold := CASE WHEN known THEN step[11] ELSE least(base[4] - step[3], 2 * half) END;
  tick := base[2] + step[3] - CASE WHEN known THEN 0 ELSE ${fn('slowdown')}(cold, base[4], half) END;
  early := base[3] + step[7];
  IF early < 0 THEN tick := tick + 1; early := early + scale; END IF;
  IF tick > 0 THEN RETURN ARRAY[base[1], tick, early, cold, scale, 0, 0, 0, 0]; END IF;
  RETURN ARRAY[base[1], 0, 0, least(cold - tick, 2 * half), scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('warm_up')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE base int8[]; next int8[];
BEGIN
  base := ${fn('found_warm_up')}(state, now, step);
  next := CASE WHEN step[3] < 0 THEN ${fn('refund_warm_up')}(base, step) ELSE ${fn('take_warm_up')}(base, step) END;
  RETURN ARRAY[
    (base[2] + step[4] <= step[5])::int::int8,
    (state IS NOT NULL OR step[3] >= 0)::int::int8,
    (state IS NOT NULL AND state[1] > now)::int::int8] || base || next;
END
$$;
`
