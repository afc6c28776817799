import { fieldsOf, PENALTY, PENALTY_STEP, partOf } from './layout.ts'
import type { Names } from './names.ts'

const step = fieldsOf('step', PENALTY_STEP)
const state = fieldsOf('state', PENALTY)
const base = fieldsOf('base', PENALTY)
const upToFirst = partOf('base', PENALTY, 'writtenAt', 'first')
const upToCount = partOf('base', PENALTY, 'writtenAt', 'count')
const fromUntil = partOf('base', PENALTY, 'until', 'zero5')
const fromLevel = partOf('base', PENALTY, 'level', 'zero5')

/**
 * The penalty kernel in SQL: the arithmetic of `kernels/penalty.ts` of core.
 */
export const penaltySql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('penalty_found')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  back CONSTANT int8 := greatest(${state.writtenAt} - now, 0);
  first CONSTANT int8 := ${state.first} - back;
  until CONSTANT int8 := CASE WHEN ${state.until} > 0 THEN ${state.until} - back ELSE 0 END;
  level int8 := ${state.level};
  last int8 := CASE WHEN ${state.level} > 0 THEN ${state.last} - back ELSE 0 END;
  is_over bool; is_forgiven bool;
BEGIN
  IF state IS NULL THEN RETURN ARRAY[now, now, 0, 0, 0, 0, 0, 0, 0, 0, 0]; END IF;
  IF until > now THEN RETURN ARRAY[now, first, ${state.count}, until, level, last, 0, 0, 0, 0, 0]; END IF;
  IF until > 0 THEN level := level + 1; last := until; END IF;
  is_over := until > 0 OR ${state.count} = 0 OR now - first >= ${step.window};
  is_forgiven := level = 0 OR now - last >= ${step.forgive};
  RETURN ARRAY[now, CASE WHEN is_over THEN now ELSE first END, CASE WHEN is_over THEN 0 ELSE ${state.count} END, 0,
    CASE WHEN is_forgiven THEN 0 ELSE level END, CASE WHEN is_forgiven THEN 0 ELSE last END, 0, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_length')}(step int8[], level int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  length int8 := ${step.block};
  i int8 := 0;
BEGIN
  WHILE i < level AND length < ${step.max} LOOP
    length := least(length * ${step.grow}, ${step.max});
    i := i + 1;
  END LOOP;
  RETURN length;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_extended')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN ${step.extend} = 0 OR ${base.until} = 0 THEN base
    ELSE ${upToCount} || greatest(${base.until}, ${base.writtenAt} + ${fn('penalty_length')}(step, ${base.level})) || ${fromLevel} END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_more')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE count CONSTANT int8 := least(${base.count} + ${step.increment}, ${2 ** 50});
BEGIN
  IF count < ${step.limit} THEN RETURN ${upToFirst} || count || ${fromUntil}; END IF;
  RETURN ${upToFirst} || count || greatest(${base.until}, ${base.writtenAt} + ${fn('penalty_length')}(step, ${base.level})) || ${fromLevel};
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty_less')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  give CONSTANT int8 := CASE WHEN ${step.since} = 0 OR ${step.since} = ${base.first} THEN least(-${step.increment}, ${base.count}) ELSE 0 END;
  count CONSTANT int8 := ${base.count} - give;
BEGIN
  RETURN ${upToFirst} || count || CASE WHEN give > 0 AND count < ${step.limit} THEN 0 ELSE ${base.until} END || ${fromLevel};
END
$$;

CREATE OR REPLACE FUNCTION ${fn('penalty')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  "limit" CONSTANT int8 := ${step.limit};
  base int8[]; next int8[]; used int8; is_moved bool;
BEGIN
  base := ${fn('penalty_extended')}(${fn('penalty_found')}(state, now, step), step);
  used := CASE WHEN ${base.until} > 0 THEN greatest(${base.count}, "limit") ELSE ${base.count} END;
  next := CASE WHEN ${step.increment} < 0 THEN ${fn('penalty_less')}(base, step) ELSE ${fn('penalty_more')}(base, step) END;
  is_moved := state IS NOT NULL AND (${state.writtenAt} > now OR ${step.extend} = 1 AND ${base.until} > 0);
  RETURN ARRAY[
    (used + ${step.check} <= "limit")::int::int8,
    (CASE WHEN ${step.increment} = 0 THEN is_moved ELSE state IS NOT NULL OR ${step.increment} > 0 END)::int::int8,
    is_moved::int::int8] || base || next;
END
$$;
`
