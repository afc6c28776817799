import { LONGEST_STEP, MOST_RETURNED } from '@spillway/core/internal'
import { BUCKET_STEP, fieldsOf, REFUNDED, RETURNED } from './layout.ts'
import type { Names } from './names.ts'

const step = fieldsOf('step', BUCKET_STEP)
const refunded = fieldsOf('refunded', REFUNDED)
const returned = fieldsOf('returned', RETURNED)

/**
 * The bucket kernel in SQL: the arithmetic of `kernels/bucket.ts` of core.
 *
 * A state is `tat`, the theoretical arrival time, or null and the array `refunded`. A state that is not whole microseconds is
 * `tat` and the array `FRACTION`. `state_early` is the early beside `tat`, or 0 if its scale is not the step's: a number,
 * because an array takes more CPU time. `layout.ts` names the numbers of steps, states and outcomes.
 *
 * Times are whole microseconds in an `int8` and never negative, so that `/` rounds down and `%` is the remainder, as
 * `Math.floor` and `%` do in core. No value comes close to 2^63.
 */
export const bucketSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('tick_of')}(now int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE ${step.interval} WHEN 0 THEN now ELSE (now + ${step.offset}) / ${step.interval} * ${step.amount} END
$$;

CREATE OR REPLACE FUNCTION ${fn('full_tick')}(moment int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE ${step.interval} WHEN 0 THEN moment
    ELSE (moment + ${step.offset} - ${step.interval}) / ${step.interval} * ${step.amount}
      + least(((moment + ${step.offset} - ${step.interval}) % ${step.interval} + ${step.tick} - 1) / ${step.tick}, ${step.amount}) END
$$;

CREATE OR REPLACE FUNCTION ${fn('full_moment')}(tick int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE ${step.interval} WHEN 0 THEN tick
    ELSE tick / ${step.amount} * ${step.interval} + tick % ${step.amount} * ${step.tick} + ${step.interval} - ${step.offset} END
$$;

CREATE OR REPLACE FUNCTION ${fn('carry')}(early int8, scale int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN early < 0 THEN 1 WHEN early < scale THEN 0 ELSE -1 END
$$;

CREATE OR REPLACE FUNCTION ${fn('state_at')}
  (tick int8, early int8, gross int8, gross_early int8, turn int8, now_tick int8, step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[
    CASE WHEN tick - now_tick > ${step.ceiling} THEN -1 ELSE 1 END * ${fn('full_moment')}(tick, step),
    CASE WHEN gross <> tick OR gross_early <> early OR turn > now_tick THEN ${fn('full_moment')}(gross, step) END,
    CASE WHEN turn > now_tick THEN ${fn('full_moment')}(turn, step) ELSE 0 END,
    early,
    gross_early]
$$;

CREATE OR REPLACE FUNCTION ${fn('returned_by')}
  (step int8[], last bool, now_tick int8, base int8, early int8, gross int8, gross_early int8, turn int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  scale CONSTANT int8 := ${step.scale};
  until CONSTANT int8 := ${step.until};
  tick int8 := base - now_tick; part int8 := early; ends int8 := ${step.ends}; ends_early int8 := 0; over int8;
BEGIN
  IF NOT last AND until <> ${Number.MAX_SAFE_INTEGER} THEN
    IF (gross, -gross_early) < (until, -${step.untilEarly}) THEN RETURN ARRAY[0, 0]; END IF;
    part := ${step.untilEarly} - gross_early + early;
    over := ${fn('carry')}(part, scale);
    tick := until - (gross - base) + over;
    part := part + over * scale;
    IF (base, -early) < (ends, 0) THEN ends := base; ends_early := early; END IF;
    IF (tick, -part) < (ends, -ends_early) THEN tick := ends; part := ends_early; END IF;
    tick := tick - greatest(now_tick, turn);
    IF tick <= 0 THEN RETURN ARRAY[0, 0]; END IF;
  END IF;
  RETURN CASE WHEN (tick, -part) < (-${step.increment}, ${step.incrementEarly}) THEN ARRAY[tick, part] ELSE ARRAY[-${step.increment}, -${step.incrementEarly}] END;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('bucket')}(state int8, state_early int8, refunded int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ceiling CONSTANT int8 := ${step.ceiling};
  scale CONSTANT int8 := ${step.scale};
  stored int8 := coalesce(state, ${refunded.tat});
  tick_micros int8 := 1;
  now_tick int8 := now;
  due int8 := now + ${step.wait};
  tat int8 := coalesce(abs(stored), now);
  early int8 := CASE WHEN abs(state) > now THEN state_early ELSE 0 END;
  gross int8; turn int8 := 0; gross_early int8 := early;
  within_ceiling bool; base int8; change int8 := ${step.increment}; part int8 := ${step.incrementEarly}; next int8; gross_next int8; turn_next int8;
  fits_at int8; last bool; newest int8; returned int8[]; next_early int8 := 0; gross_next_early int8 := 0;
  started bool := false;
BEGIN
  IF ${step.lacking} > 0 AND (stored IS NULL OR coalesce(abs(state), ${refunded.gross}) + ${step.keep} <= now) THEN
    stored := ${fn('full_moment')}(${fn('tick_of')}(now, step) + ${step.lacking}, step);
    refunded := NULL; tat := stored; started := true; early := ${step.lackingEarly}; gross_early := early;
  END IF;
  IF ${step.interval} > 0 THEN
    tick_micros := ${step.tick};
    now_tick := ${fn('tick_of')}(now, step);
    due := ${fn('tick_of')}(now + ${step.wait}, step);
    tat := CASE WHEN stored IS NULL THEN now_tick ELSE ${fn('full_tick')}(abs(stored), step) END;
  END IF;
  within_ceiling := stored IS NULL OR stored < 0 OR tat - now_tick <= ceiling;
  base := greatest(CASE WHEN within_ceiling THEN tat ELSE now_tick + ceiling END, now_tick);
  gross := greatest(tat, base);
  IF refunded IS NOT NULL THEN
    gross := ${fn('full_tick')}(${refunded.gross}, step);
    IF ${refunded.turn} > 0 THEN turn := ${fn('full_tick')}(${refunded.turn}, step); END IF;
    IF scale > 1 AND ${refunded.scale} = scale THEN early := ${refunded.early}; gross_early := ${refunded.grossEarly}; END IF;
    IF NOT within_ceiling OR base = now_tick THEN early := 0; END IF;
    IF (gross, -gross_early) < (base, -early) THEN gross := base; gross_early := early; END IF;
  END IF;
  IF NOT within_ceiling THEN
    turn := gross; early := 0;
    IF (gross - base) * tick_micros > ${LONGEST_STEP} THEN gross := base; gross_early := early; turn := 0; END IF;
  END IF;
  fits_at := base + ${step.check} - ${step.tolerance};
  turn_next := turn; gross_next := gross; gross_next_early := gross_early;
  IF change < 0 THEN
    last := ${step.until} = gross AND ${step.untilEarly} = gross_early;
    newest := greatest(turn, base - ${step.burst} + ${fn('carry')}(early - ${step.burstEarly}, scale));
    returned := ${fn('returned_by')}(step, last, now_tick, base, early, gross, gross_early, newest);
    change := (${returned.early} > 0)::int - ${returned.ticks}; part := (scale - ${returned.early}) % scale;
    IF ${returned.ticks} <> 0 AND NOT (last AND ${step.whole} = 1) THEN turn_next := newest; END IF;
  ELSE last := true;
  END IF;
  next := base + change;
  IF last THEN gross_next := gross + change; END IF;
  IF scale > 1 THEN
    fits_at := fits_at + ${fn('carry')}(early + ${step.checkEarly} - ${step.toleranceEarly}, scale);
    next := next - (early + part) / scale;
    next_early := (early + part) % scale;
    IF last THEN
      gross_next := gross_next - (gross_early + part) / scale;
      gross_next_early := (gross_early + part) % scale;
    END IF;
  END IF;
  IF gross_next > next + ${MOST_RETURNED} / tick_micros THEN gross_next := next + ${MOST_RETURNED} / tick_micros; gross_next_early := 0; END IF;
  RETURN ARRAY[(fits_at <= due)::int::int8, base, next, gross_next, early, next_early, gross_next_early]
    || CASE WHEN stored IS NOT NULL OR next <> now_tick
      THEN ${fn('state_at')}(next, next_early, gross_next, gross_next_early, turn_next, now_tick, step)
      ELSE ARRAY[NULL, NULL, NULL, NULL, NULL]::int8[] END
    || CASE WHEN within_ceiling AND NOT started THEN ARRAY[NULL, NULL, NULL, NULL, NULL]::int8[]
      ELSE ${fn('state_at')}(base, early, gross, gross_early, turn, now_tick, step) END;
END
$$;
`
