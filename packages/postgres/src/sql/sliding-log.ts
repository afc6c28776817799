import { fieldsOf, LOG_OUTCOME, LOGS, SLIDING_LOG_STEP } from './layout.ts'
import type { Names } from './names.ts'

const step = fieldsOf('step', SLIDING_LOG_STEP)
const outcome = fieldsOf('outcome', LOG_OUTCOME)

/**
 * The sliding-log kernel in SQL: the arithmetic of `kernels/sliding-log.ts` of core.
 *
 * A log is an array: time, units, time, units, …
 */
export const slidingLogSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('units_of')}(log int8[]) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE units int8 := 0;
BEGIN
  FOR i IN 2..cardinality(log) BY 2 LOOP units := units + log[i]; END LOOP;
  RETURN units;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('dated')}(log int8[], now int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE past int := 1;
BEGIN
  WHILE log[past] < now LOOP past := past + 2; END LOOP;
  RETURN log[:past - 1] || now || ${fn('units_of')}(log[past:]);
END
$$;

CREATE OR REPLACE FUNCTION ${fn('live')}(log int8[], now int8, "window" int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE first int := 1; rest int8[];
BEGIN
  WHILE first < cardinality(log) AND log[first] + "window" <= now LOOP first := first + 2; END LOOP;
  rest := CASE first WHEN 1 THEN log ELSE log[first:] END;
  RETURN CASE WHEN cardinality(rest) = 0 OR rest[cardinality(rest) - 1] <= now THEN rest
    ELSE ${fn('dated')}(rest, now) END;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('more')}(log int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  size CONSTANT int := cardinality(log);
  owed CONSTANT bool := size > 0 AND ${fn('units_of')}(log) >= ${step.limit};
BEGIN
  IF log[size - 1] IS DISTINCT FROM now AND NOT owed THEN RETURN log || now || ${step.increment}; END IF;
  RETURN log[:size - 2] || now || log[size] + ${step.increment};
END
$$;

CREATE OR REPLACE FUNCTION ${fn('sliding_log_less')}(log int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  size CONSTANT int := cardinality(log);
  since CONSTANT int8 := ${step.since};
  give int8 := -${step.increment};
  units int8;
  rest int8[] := '{}';
BEGIN
  FOR i IN REVERSE size - 1..1 BY 2 LOOP
    EXIT WHEN give = 0;
    CONTINUE WHEN since <> 0 AND log[i] <> since;
    units := least(log[i + 1], give);
    log[i + 1] := log[i + 1] - units;
    give := give - units;
  END LOOP;
  FOR i IN 1..size - 1 BY 2 LOOP
    IF log[i + 1] <> 0 THEN rest := rest || log[i] || log[i + 1]; END IF;
  END LOOP;
  RETURN rest;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('fits_at')}(log int8[], now int8, step int8[], units int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE over int8 := ${fn('units_of')}(log) + units - ${step.limit};
BEGIN
  FOR i IN 1..cardinality(log) - 1 BY 2 LOOP
    EXIT WHEN over <= 0;
    over := over - log[i + 1];
    IF over <= 0 THEN RETURN log[i] + ${step.window}; END IF;
  END LOOP;
  RETURN now;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('sliding_log')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  base CONSTANT int8[] := ${fn('live')}(coalesce(state, '{}'), now, ${step.window});
  allowed CONSTANT bool := ${fn('units_of')}(base) + ${step.check} <= ${step.limit};
  next CONSTANT int8[] := CASE WHEN ${step.increment} < 0 THEN ${fn('sliding_log_less')}(base, step)
    ELSE ${fn('more')}(base, now, step) END;
  ahead CONSTANT bool := coalesce(state[cardinality(state) - 1] > now, false);
BEGIN
  RETURN ARRAY[
    allowed::int::int8,
    (state IS NOT NULL OR ${step.increment} >= 0)::int::int8,
    ahead::int::int8,
    cardinality(base)] || base || next;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('read_log')}(outcome int8[], now int8, step int8[], takes bool) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  base CONSTANT int8[] := ${LOGS.base};
  log CONSTANT int8[] := CASE WHEN takes THEN ${LOGS.next} ELSE base END;
  used CONSTANT int8 := ${fn('units_of')}(log);
BEGIN
  RETURN ARRAY[
    ${outcome.allowed},
    used,
    ${fn('fits_at')}(base, now, step, ${step.check}),
    ${fn('fits_at')}(log, now, step, greatest(${step.limit} - used, 0) + 1),
    CASE cardinality(log) WHEN 0 THEN now ELSE log[cardinality(log) - 1] + ${step.window} END];
END
$$;
`
