import { fieldsOf, WARM_UP, WARM_UP_STEP } from './layout.ts'
import type { Names } from './names.ts'

const step = fieldsOf('step', WARM_UP_STEP)
const state = fieldsOf('state', WARM_UP)
const base = fieldsOf('base', WARM_UP)

/**
 * The warm-up kernel in SQL: the arithmetic of `kernels/warm-up.ts` of core.
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
  half CONSTANT int8 := ${step.half};
  scale CONSTANT int8 := ${step.scale};
  remaining CONSTANT int8 := ${state.ahead} - greatest(now - ${state.writtenAt}, 0);
BEGIN
  IF state IS NULL THEN RETURN ARRAY[now, 0, 0, 2 * half, scale, 0, 0, 0, 0]; END IF;
  IF remaining > 0 THEN
    RETURN ARRAY[now, remaining, CASE WHEN ${state.scale} = scale THEN ${state.early} ELSE 0 END,
      least(${state.cold}, 2 * half), scale, 0, 0, 0, 0];
  END IF;
  RETURN ARRAY[now, 0, 0, least(${state.cold} - remaining, 2 * half), scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('take_warm_up')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  scale CONSTANT int8 := ${step.scale};
  tick int8 := ${base.ahead} + ${step.increment};
  early int8 := ${base.early} + ${step.early};
  cold int8;
BEGIN
  IF early >= scale THEN tick := tick - 1; early := early - scale; END IF;
  cold := greatest(${base.cold} - (tick - ${base.ahead}), 0);
  RETURN ARRAY[${base.writtenAt}, tick + ${fn('slowdown')}(${base.cold}, cold, ${step.half}), early, cold, scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('refund_warm_up')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  half CONSTANT int8 := ${step.half};
  scale CONSTANT int8 := ${step.scale};
  known CONSTANT bool := ${step.until} <> ${Number.MAX_SAFE_INTEGER};
  last CONSTANT bool := ${base.writtenAt} + ${base.ahead} = ${step.until} AND ${base.early} = ${step.untilEarly};
  cold int8; tick int8; early int8;
BEGIN
  IF ${base.ahead} = 0 OR known AND NOT last THEN RETURN base; END IF;
  cold := CASE WHEN known THEN ${step.cold} ELSE least(${base.cold} - ${step.increment}, 2 * half) END;
  tick := ${base.ahead} + ${step.increment} - CASE WHEN known THEN 0 ELSE ${fn('slowdown')}(cold, ${base.cold}, half) END;
  early := ${base.early} + ${step.early};
  IF early < 0 THEN tick := tick + 1; early := early + scale; END IF;
  IF tick > 0 THEN RETURN ARRAY[${base.writtenAt}, tick, early, cold, scale, 0, 0, 0, 0]; END IF;
  RETURN ARRAY[${base.writtenAt}, 0, 0, least(cold - tick, 2 * half), scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('warm_up')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE base int8[]; next int8[];
BEGIN
  base := ${fn('found_warm_up')}(state, now, step);
  next := CASE WHEN ${step.increment} < 0 THEN ${fn('refund_warm_up')}(base, step) ELSE ${fn('take_warm_up')}(base, step) END;
  RETURN ARRAY[
    (${base.ahead} + ${step.check} <= ${step.tolerance})::int::int8,
    (state IS NOT NULL OR ${step.increment} >= 0)::int::int8,
    (state IS NOT NULL AND ${state.writtenAt} > now)::int::int8] || base || next;
END
$$;
`
