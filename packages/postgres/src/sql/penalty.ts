import type { Names } from './names.ts'

/**
 * The penalty kernel in SQL: the arithmetic of `kernels/penalty.ts` of core.
 *
 * A state is an array of eleven: written at, first, count, until, level, last, and zeros, as arrays of other lengths
 * are of other kernels. A step is kernel, peek, increment, check, limit, window, block, grow, max, forgive, since,
 * extend. An outcome is allowed, whether the step leaves a state (taken is next), whether a denial changes it (kept is
 * base), then base and next.
 */
export const penaltySql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('penalty_found')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  back CONSTANT int8 := greatest(state[1] - now, 0);
  first CONSTANT int8 := state[2] - back;
  until CONSTANT int8 := CASE WHEN state[4] > 0 THEN state[4] - back ELSE 0 END;
  level int8 := state[5];
  last int8 := CASE WHEN state[5] > 0 THEN state[6] - back ELSE 0 END;
  is_over bool; is_forgiven bool;
BEGIN
  IF state IS NULL THEN RETURN ARRAY[now, now, 0, 0, 0, 0, 0, 0, 0, 0, 0]; END IF;
  IF until > now THEN RETURN ARRAY[now, first, state[3], until, level, last, 0, 0, 0, 0, 0]; END IF;
  IF until > 0 THEN level := level + 1; last := until; END IF;
  is_over := until > 0 OR state[3] = 0 OR now - first >= step[6];
  is_forgiven := level = 0 OR now - last >= step[10];
  RETURN ARRAY[now, CASE WHEN is_over THEN now ELSE first END, CASE WHEN is_over THEN 0 ELSE state[3] END, 0,
    CASE WHEN is_forgiven THEN 0 ELSE level END, CASE WHEN is_forgiven THEN 0 ELSE last END, 0, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_length')}(step int8[], level int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  length int8 := step[7];
  i int8 := 0;
BEGIN
  WHILE i < level AND length < step[9] LOOP
    length := least(length * step[8], step[9]);
    i := i + 1;
  END LOOP;
  RETURN length;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_extended')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN step[12] = 0 OR base[4] = 0 THEN base
    ELSE base[1:3] || greatest(base[4], base[1] + ${fn('penalty_length')}(step, base[5])) || base[5:11] END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_more')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE count CONSTANT int8 := least(base[3] + step[3], ${2 ** 50});
BEGIN
  IF count < step[5] THEN RETURN base[1:2] || count || base[4:11]; END IF;
  RETURN base[1:2] || count || greatest(base[4], base[1] + ${fn('penalty_length')}(step, base[5])) || base[5:11];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_less')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  give CONSTANT int8 := CASE WHEN step[11] = 0 OR step[11] = base[2] THEN least(-step[3], base[3]) ELSE 0 END;
  count CONSTANT int8 := base[3] - give;
BEGIN
  RETURN base[1:2] || count || CASE WHEN give > 0 AND count < step[5] THEN 0 ELSE base[4] END || base[5:11];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  "limit" CONSTANT int8 := step[5];
  base int8[]; next int8[]; used int8; is_moved bool;
BEGIN
  base := ${fn('penalty_extended')}(${fn('penalty_found')}(state, now, step), step);
  used := CASE WHEN base[4] > 0 THEN greatest(base[3], "limit") ELSE base[3] END;
  next := CASE WHEN step[3] < 0 THEN ${fn('penalty_less')}(base, step) ELSE ${fn('penalty_more')}(base, step) END;
  is_moved := state IS NOT NULL AND (state[1] > now OR step[12] = 1 AND base[4] > 0);
  RETURN ARRAY[
    (used + step[4] <= "limit")::int::int8,
    (CASE WHEN step[3] = 0 THEN is_moved ELSE state IS NOT NULL OR step[3] > 0 END)::int::int8,
    is_moved::int::int8] || base || next;
END
$$;
`
