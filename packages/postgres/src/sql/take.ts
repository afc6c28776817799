import { expirySql, type Names } from './names.ts'

/**
 * Runs the SQL kernels, as `kernels/kernel.ts` of core does: selects the kernel of a step, its state, and its result.
 * It covers the kernels with counts; the bucket is in `take_all`.
 */
const aroundSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('bucket_state')}(tat int8, counts int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN tat IS NOT NULL THEN ARRAY[tat, abs(tat), 0, 0, counts[1], counts[2], counts[2]]
    WHEN cardinality(counts) IN (5, 7) THEN counts END
$$;

CREATE OR REPLACE FUNCTION ${fn('run_kernel')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE step[1]
    WHEN 2 THEN ${fn('sliding_window')}(CASE WHEN cardinality(state) = 3 THEN state END, now, step)
    WHEN 4 THEN ${fn('warm_up')}(CASE WHEN cardinality(state) = 9 THEN state END, now, step)
    ELSE ${fn('sliding_log')}(CASE WHEN cardinality(state) % 2 = 0 THEN state END, now, step) END
$$;

CREATE OR REPLACE FUNCTION ${fn('state_of')}(outcome int8[], step int8[], takes bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN outcome[CASE WHEN takes THEN 2 ELSE 3 END] = 1 THEN CASE
    WHEN step[1] = 2 AND takes THEN outcome[7:9]
    WHEN step[1] = 2 THEN outcome[4:6]
    WHEN step[1] = 4 AND takes THEN outcome[13:21]
    WHEN step[1] = 4 THEN outcome[4:12]
    WHEN takes THEN outcome[outcome[4] + 5:]
    ELSE outcome[5:outcome[4] + 4] END END
$$;

CREATE OR REPLACE FUNCTION ${fn('taken_of')}(outcome int8[], now int8, step int8[], written bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN step[1] = 3 THEN ${fn('read_log')}(outcome, now, step, written)
    WHEN step[1] = 4 THEN outcome[1] || outcome[5:7] || CASE WHEN written THEN outcome[14:16] ELSE outcome[5:7] END
    WHEN written THEN outcome[1] || outcome[7:9]
    ELSE outcome[1] || outcome[4:6] END
$$;

CREATE OR REPLACE FUNCTION ${fn('spent_at')}(state int8[], now int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE step[1]
    WHEN 2 THEN state[1] + (2 - step[10]) * step[6] * step[7]
    WHEN 4 THEN state[1] + state[2] + greatest(2 * step[6] - state[4], 0)
    ELSE coalesce(state[cardinality(state) - 1], now) + step[6] END
$$;
`

/** The step of an op. Until version 2 of the migration a step had fifteen numbers, and the text did not begin with how many. */
const loadSql = `IF k <> loaded THEN
          step := CASE WHEN stepped[1] > 3 THEN stepped[24 * k - 22:24 * k + 1]
            ELSE stepped[15 * k - 14:15 * k] || '{0, 0, 1, 0, 0, 0, 0, 0, 0}' END;
          loaded := k;
        END IF;`

/** Reads the states into the variables, by name; a missing row is null. */
const readSql = (rows: string): string => `
      FOR seen IN ${rows} LOOP
        WHILE named[i] <> seen.name COLLATE "C" LOOP i := i + 1; END LOOP;
        there[i] := true; tats[i] := seen.tat;
        IF seen.counts IS NOT NULL THEN counted[i] := seen.counts::text; END IF;
      END LOOP;`

/**
 * Takes many calls in order, each all-or-nothing, and returns their results.
 *
 * It first runs the calls without locks and writes. Only if a state must change, it locks the rows in the order of their
 * names, which prevents deadlocks, reads the clock, and runs the calls again on the current states. A missing row cannot
 * be locked: the first insert wins, and the other take starts again. If it holds locks on other rows, it does so in a
 * new transaction, because it would hold them out of order.
 *
 * - `names`: the states' names in order, one per line. `steps`: how many numbers a step has, then the steps. `calls`: for
 *   each call the number of its ops, then for each op the indices of its name and its step, from 1.
 * - `maxWaitMicros`: the lock timeout. `lazy`: return before the commit is on disk.
 * - The result: now, then the result of each op.
 *
 * A row is kept for a minute or more after its state has expired, as `expirySql` says.
 */
export const takeSql = (names: Names): string => {
  const { table, fn } = names
  const rows = `SELECT t.name, t.tat, t.counts FROM ${table} t WHERE t.name = ANY (named) ORDER BY t.name`
  return `${aroundSql(names)}
CREATE OR REPLACE FUNCTION ${fn('take_all')}(names text, steps text, calls text, at int8, patience text, lazy bool)
RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  named CONSTANT text[] := string_to_array(names, E'\\n');
  stepped CONSTANT int8[] := string_to_array(steps, ' ')::int8[];
  called CONSTANT int4[] := string_to_array(calls, ' ')::int4[];
  size CONSTANT int := cardinality(named);
  there bool[]; tats int8[]; counted text[]; spent int8[]; unwritten bool;
  now int8; answer int8[]; seen record;
  c int; i int; k int; ops int; loaded int; takes bool; written bool;
  step int8[]; outcome int8[]; outcomes text[]; tat int8; gross int8; state int8[]; place int;
BEGIN
  <<attempts>>
  FOR attempt IN 0..9 LOOP
    there := array_fill(false, ARRAY[size]); tats := array_fill(NULL::int8, ARRAY[size]);
    counted := NULL; spent := NULL; i := 1;
    IF attempt = 0 THEN${readSql(rows)}
    ELSE
      IF attempt = 1 THEN PERFORM set_config('lock_timeout', patience, true); END IF;
      IF attempt = 1 AND lazy THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;${readSql(`${rows} FOR UPDATE`)}
    END IF;
    now := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
    answer := ARRAY[now]; loaded := 0; c := 1;

    WHILE c < cardinality(called) LOOP
      ops := called[c]; takes := true;
      FOR op IN 1..ops LOOP
        i := called[c + 2 * op - 1]; k := called[c + 2 * op];
        ${loadSql}
        IF step[1] = 1 THEN
          state := NULL;
          IF counted[i] IS NOT NULL THEN state := ${fn('bucket_state')}(tats[i], counted[i]::int8[]); END IF;
          outcome := ${fn('bucket')}(tats[i], state, now, step);
        ELSE outcome := ${fn('run_kernel')}(CASE WHEN tats[i] IS NULL THEN counted[i]::int8[] END, now, step); END IF;
        takes := takes AND outcome[1] = 1;
        IF ops > 1 THEN outcomes[op] := outcome::text; END IF;
      END LOOP;
      FOR op IN 1..ops LOOP
        IF ops > 1 THEN
          i := called[c + 2 * op - 1]; k := called[c + 2 * op];
          ${loadSql}
          outcome := outcomes[op]::int8[];
        END IF;
        written := takes AND step[2] = 0;
        IF step[1] = 1 THEN
          IF written THEN answer := answer || outcome[1:4];
          ELSE answer := answer || ARRAY[outcome[1], outcome[2], outcome[2], outcome[2]]; END IF;
          IF step[18] > 1 THEN
            answer := answer || CASE WHEN written THEN outcome[5:7] ELSE ARRAY[outcome[5], outcome[5], outcome[5]] END;
          END IF;
          place := CASE WHEN takes THEN 8 ELSE 13 END;
          tat := outcome[place];
          CONTINUE WHEN step[2] = 1 OR tat IS NULL;
          gross := outcome[place + 1];
          IF gross IS NULL THEN
            state := CASE WHEN outcome[place + 3] > 0 THEN ARRAY[step[18], outcome[place + 3]] END;
            CONTINUE WHEN tat = tats[i] AND state IS NOT DISTINCT FROM counted[i]::int8[];
            CONTINUE attempts WHEN attempt = 0;
            tats[i] := tat; spent[i] := abs(tat) + step[17];
            IF state IS NOT NULL OR counted[i] IS NOT NULL THEN counted[i] := state::text; END IF;
          ELSE
            state := ARRAY[tat, gross, outcome[place + 2], 0] || CASE WHEN outcome[place + 3] + outcome[place + 4] > 0
              THEN ARRAY[step[18], outcome[place + 3], outcome[place + 4]] ELSE ARRAY[0]::int8[] END;
            CONTINUE WHEN state = counted[i]::int8[];
            CONTINUE attempts WHEN attempt = 0;
            tats[i] := NULL; spent[i] := gross + step[17]; counted[i] := state::text;
          END IF;
        ELSE
          answer := answer || ${fn('taken_of')}(outcome, now, step, written);
          state := ${fn('state_of')}(outcome, step, takes);
          CONTINUE WHEN step[2] = 1 OR state IS NULL OR state = counted[i]::int8[];
          CONTINUE attempts WHEN attempt = 0;
          tats[i] := NULL; spent[i] := ${fn('spent_at')}(state, now, step);
          counted[i] := state::text;
        END IF;
      END LOOP;
      c := c + 1 + 2 * ops;
    END LOOP;

    unwritten := true;
    FOR w IN coalesce(array_lower(spent, 1), 1)..coalesce(array_upper(spent, 1), 0) LOOP
      CONTINUE WHEN spent[w] IS NULL;
      IF there[w] THEN
        UPDATE ${table} t SET tat = tats[w], counts = counted[w]::int8[],
          expires = ${expirySql('spent[w]', 't.expires')} WHERE t.name = named[w];
      ELSE
        INSERT INTO ${table} (name, tat, counts, expires) VALUES (named[w], tats[w], counted[w]::int8[], ${expirySql('spent[w]')})
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
          CONTINUE attempts WHEN unwritten AND true <> ALL (there);
          EXIT attempts;
        END IF;
      END IF;
      unwritten := false;
    END LOOP;
    RETURN array_to_string(answer, ' ');
  END LOOP;
  RAISE serialization_failure USING MESSAGE = 'spillway: another take was first to write a new state';
END
$$;
`
}
