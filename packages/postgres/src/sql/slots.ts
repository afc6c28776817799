import { fieldsOf, SLOTS, SLOTS_STEP } from './layout.ts'
import type { Names } from './names.ts'

const step = fieldsOf('step', SLOTS_STEP)
const base = fieldsOf('base', SLOTS)
const FIRST = SLOTS.length + 1

/**
 * The slots kernel in SQL: the arithmetic of `kernels/slots.ts` of core. A state has the highest number of a slot, the longest `ttl`,
 * eleven zeros, and the number and the end of each slot.
 */
export const slotsSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('slots_used')}(state int8[], now int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE used int8 := 0;
BEGIN
  FOR i IN ${FIRST}..cardinality(state) BY 2 LOOP
    IF state[i + 1] > now THEN used := used + 1; END IF;
  END LOOP;
  RETURN used;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('slots_free_at')}(state int8[]) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE at int8 := state[1];
BEGIN
  FOR i IN ${FIRST}..cardinality(state) BY 2 LOOP at := greatest(at, state[i + 1]); END LOOP;
  RETURN at;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('slots_held')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE last CONSTANT int8 := now + greatest(state[2], ${step.ttl});
BEGIN
  IF state IS NULL THEN RETURN '{${SLOTS.map(() => 0)}}'::int8[]; END IF;
  FOR i IN ${FIRST}..cardinality(state) BY 2 LOOP
    state[i + 1] := least(state[i + 1], last);
  END LOOP;
  RETURN state;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('slots_acquired')}(base int8[], now int8, count int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  first CONSTANT int8 := greatest(now, ${base.last} + 1);
  slots int8[] := base[:${SLOTS.length}];
BEGIN
  FOR i IN ${FIRST}..cardinality(base) BY 2 LOOP
    IF base[i + 1] > now THEN slots := slots || base[i] || base[i + 1]; END IF;
  END LOOP;
  slots[2] := CASE WHEN cardinality(slots) > ${SLOTS.length} THEN greatest(${base.ttl}, ${step.ttl}) ELSE ${step.ttl} END;
  FOR i IN 0..count - 1 LOOP slots := slots || first + i || now + ${step.ttl}; END LOOP;
  slots[1] := first + count - 1;
  RETURN slots;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('slots_renewed')}(base int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE id int8 := 0;
BEGIN
  FOR i IN ${FIRST}..cardinality(base) BY 2 LOOP
    IF base[i] >= ${step.id} AND base[i] < ${step.id} + ${step.increment} THEN
      id := ${step.id};
      base[i + 1] := now + ${step.ttl};
    END IF;
  END LOOP;
  IF id > 0 THEN base[2] := greatest(${base.ttl}, ${step.ttl}); END IF;
  RETURN id || base;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('slots_released')}(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  first int8 := ${step.id};
  after int8 := ${step.id} - ${step.increment};
  left_over int8[] := base[:${SLOTS.length}];
BEGIN
  IF ${step.id} = 0 THEN
    first := coalesce(base[greatest(cardinality(base) + 2 * ${step.increment}, ${SLOTS.length}) + 1], 0);
    after := ${base.last} + 1;
  END IF;
  FOR i IN ${FIRST}..cardinality(base) BY 2 LOOP
    IF base[i] < first OR base[i] >= after THEN left_over := left_over || base[i] || base[i + 1]; END IF;
  END LOOP;
  RETURN CASE cardinality(left_over) WHEN cardinality(base) THEN 0 ELSE first END || left_over;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('slots')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  base CONSTANT int8[] := ${fn('slots_held')}(state, now, step);
  used CONSTANT int8 := ${fn('slots_used')}(base, now);
  count CONSTANT int8 := least(${step.increment}, greatest(${step.limit} - used, 0));
  stepped CONSTANT int8[] := CASE
    WHEN ${step.increment} < 0 THEN ${fn('slots_released')}(base, step)
    WHEN ${step.id} > 0 THEN ${fn('slots_renewed')}(base, now, step)
    WHEN count = 0 THEN 0::int8 || base
    ELSE greatest(now, ${base.last} + 1) || ${fn('slots_acquired')}(base, now, count, step) END;
BEGIN
  RETURN ARRAY[
    (used + ${step.check} <= ${step.limit})::int::int8,
    (state IS NOT NULL OR stepped[1] > 0)::int::int8,
    coalesce(state OPERATOR(pg_catalog.<>) base, false)::int::int8,
    cardinality(base),
    stepped[1]] || base || stepped[2:];
END
$$;
`
