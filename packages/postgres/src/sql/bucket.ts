import { LONGEST_STEP, MOST_RETURNED } from '@spillway/core'
import type { Names } from './names.ts'

/**
 * The bucket kernel in SQL: `kernels/bucket.ts` of core, in the same order with the same names.
 *
 * A state is `tat`, or null and the array `refunded`: tat, gross, turn, 0, 0. Five numbers tell it from a window's three
 * and a log's pairs. A step is an array: kernel, peek, increment, check, tolerance, ceiling, patience, until, burst, ends,
 * whole, the grain's every, amount, unit and shift, and the start's lacking and keep (0 where there is none). An outcome is one too: allowed, base, next,
 * gross_next, then tat, gross and turn if taken, and the same three if kept; gross is null in a plain state.
 *
 * Moments are whole microseconds in an `int8` and never negative, so that `/` rounds down and `%` is the rest, as
 * `Math.floor` and `%` do there. Nothing comes near 2^63.
 */
export const bucketSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('tick_of')}(now int8, every int8, amount int8, shift int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE every WHEN 0 THEN now ELSE (now + shift) / every * amount END
$$;

CREATE OR REPLACE FUNCTION ${fn('full_tick')}(moment int8, every int8, amount int8, unit int8, shift int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE every WHEN 0 THEN moment
    ELSE (moment + shift - every) / every * amount + least(((moment + shift - every) % every + unit - 1) / unit, amount) END
$$;

CREATE OR REPLACE FUNCTION ${fn('full_moment')}(tick int8, every int8, amount int8, unit int8, shift int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE every WHEN 0 THEN tick ELSE tick / amount * every + tick % amount * unit + every - shift END
$$;

CREATE OR REPLACE FUNCTION ${fn('state_at')}
  (tick int8, gross int8, turn int8, at int8, ceiling int8, every int8, amount int8, unit int8, shift int8) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[
    CASE WHEN tick - at > ceiling THEN -1 ELSE 1 END * ${fn('full_moment')}(tick, every, amount, unit, shift),
    CASE WHEN gross <> tick OR turn > at
      THEN ${fn('full_moment')}(gross, every, amount, unit, shift) END,
    CASE WHEN turn > at THEN ${fn('full_moment')}(turn, every, amount, unit, shift) ELSE 0 END]
$$;

CREATE OR REPLACE FUNCTION ${fn('returned')}
  (at int8, base int8, gross int8, turn int8, increment int8, until int8, ends int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN until = ${Number.MAX_SAFE_INTEGER} OR until = gross THEN least(-increment, base - at)
    WHEN until > gross THEN 0
    ELSE greatest(least(-increment, greatest(until - (gross - base), ends) - greatest(at, turn)), 0) END
$$;

CREATE OR REPLACE FUNCTION ${fn('bucket')}(state int8, refunded int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  increment CONSTANT int8 := step[3];
  ceiling CONSTANT int8 := step[6];
  every CONSTANT int8 := step[12];
  stored int8 := coalesce(state, refunded[1]);
  amount int8; unit int8 := 1; shift int8;
  at int8 := now;
  due int8 := now + step[7];
  tat int8 := coalesce(abs(stored), now);
  gross int8; turn int8 := 0;
  honest bool; base int8; change int8 := step[3]; next int8; gross_next int8; turn_next int8; last bool;
  allowed bool; taken int8[]; kept int8[];
BEGIN
  IF step[16] > 0 AND coalesce(abs(state), refunded[2], 0) + step[17] <= now THEN
    stored := ${fn('full_moment')}(${fn('tick_of')}(now, every, step[13], step[15]) + step[16], every, step[13], step[14], step[15]);
    refunded := NULL; tat := stored;
  END IF;
  IF every > 0 THEN
    amount := step[13]; unit := step[14]; shift := step[15];
    at := ${fn('tick_of')}(now, every, amount, shift);
    due := ${fn('tick_of')}(now + step[7], every, amount, shift);
    tat := CASE WHEN stored IS NULL THEN at ELSE ${fn('full_tick')}(abs(stored), every, amount, unit, shift) END;
  END IF;
  honest := stored IS NULL OR stored < 0 OR tat - at <= ceiling;
  base := greatest(CASE WHEN honest THEN tat ELSE at + ceiling END, at);
  gross := greatest(tat, base);
  IF refunded IS NOT NULL THEN
    gross := greatest(${fn('full_tick')}(refunded[2], every, amount, unit, shift), base);
    IF refunded[3] > 0 THEN turn := ${fn('full_tick')}(refunded[3], every, amount, unit, shift); END IF;
  END IF;
  IF NOT honest THEN
    turn := gross;
    IF (gross - base) * unit > ${LONGEST_STEP} THEN gross := base; turn := 0; END IF;
  END IF;
  allowed := base + step[4] - due <= step[5];
  gross_next := gross + change; turn_next := turn;
  IF increment < 0 THEN
    last := step[8] = gross;
    change := -${fn('returned')}(at, base, gross, greatest(turn, base - step[9]), increment, step[8], step[10]);
    gross_next := CASE WHEN last THEN gross + change ELSE gross END;
    IF change <> 0 AND NOT (last AND step[11] = 1 AND gross = base) THEN turn_next := greatest(turn, base - step[9]); END IF;
  END IF;
  next := base + change;
  gross_next := least(gross_next, next + ${MOST_RETURNED} / unit);
  taken := CASE WHEN stored IS NOT NULL OR next <> at
    THEN ${fn('state_at')}(next, gross_next, turn_next, at, ceiling, every, amount, unit, shift)
    ELSE ARRAY[NULL, NULL, NULL]::int8[] END;
  kept := CASE WHEN honest THEN ARRAY[stored, refunded[2], refunded[3]]
    ELSE ${fn('state_at')}(base, gross, turn, at, ceiling, every, amount, unit, shift) END;
  RETURN ARRAY[allowed::int::int8, base, next, gross_next] || taken || kept;
END
$$;
`
