import type { Names } from './names.ts'

/**
 * The bucket kernel in SQL: `kernels/bucket.ts` of core, in the same order with the same names.
 *
 * A step is an array: kernel, peek, increment, check, tolerance, ceiling, patience, until, and the grain's every,
 * amount, unit and shift (0 where there is none). An outcome is one too: allowed, base, next, taken, kept.
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

CREATE OR REPLACE FUNCTION ${fn('state_at')}
  (tick int8, at int8, ceiling int8, every int8, amount int8, unit int8, shift int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN tick - at > ceiling THEN -1 ELSE 1 END
    * CASE every WHEN 0 THEN tick ELSE tick / amount * every + tick % amount * unit + every - shift END
$$;

CREATE OR REPLACE FUNCTION ${fn('bucket')}(state int8, now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ceiling CONSTANT int8 := step[6];
  every CONSTANT int8 := step[9];
  amount int8; unit int8; shift int8;
  at int8 := now;
  due int8 := now + step[7];
  tat int8 := coalesce(abs(state), now);
  honest bool; base int8; next int8; allowed bool; taken int8; kept int8 := state;
BEGIN
  IF every > 0 THEN
    amount := step[10]; unit := step[11]; shift := step[12];
    at := ${fn('tick_of')}(now, every, amount, shift);
    due := ${fn('tick_of')}(now + step[7], every, amount, shift);
    tat := CASE WHEN state IS NULL THEN at ELSE ${fn('full_tick')}(abs(state), every, amount, unit, shift) END;
  END IF;
  honest := state IS NULL OR state < 0 OR tat - at <= ceiling;
  base := greatest(CASE WHEN honest THEN tat ELSE at + ceiling END, at);
  next := greatest(base + greatest(step[3], least(at - step[8], 0)), at);
  allowed := base + step[4] - due <= step[5];
  IF state IS NOT NULL OR next <> at THEN
    taken := ${fn('state_at')}(next, at, ceiling, every, amount, unit, shift);
  END IF;
  IF NOT honest THEN
    kept := ${fn('state_at')}(base, at, ceiling, every, amount, unit, shift);
  END IF;
  RETURN ARRAY[allowed::int::int8, base, next, taken, kept];
END
$$;
`
