import { LONGEST } from '@spillway/core/internal'
import { expirySql, type Names, SAFE_PATH } from './names.ts'

/**
 * Runs the SQL kernels, as `runKernel` of core does: selects the kernel of a step, its state, and its result.
 * It covers the kernels with counts; `take_calls` runs the bucket itself. `foreign_in` is the state of another kernel, and
 * `adopted` the state that a kernel makes of it: `used.ts` and `kernels.ts` of core, in the same double precision.
 */
const aroundSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('refunded_in')}(counts int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN cardinality(counts) IN (5, 7) THEN counts END
$$;

CREATE OR REPLACE FUNCTION ${fn('run_kernel')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE step[1]
    WHEN 2 THEN ${fn('sliding_window')}(CASE WHEN cardinality(state) = 3 THEN state END, now, step)
    WHEN 4 THEN ${fn('warm_up')}(CASE WHEN cardinality(state) = 9 THEN state END, now, step)
    WHEN 5 THEN ${fn('penalty')}(CASE WHEN cardinality(state) = 11 THEN state END, now, step)
    ELSE ${fn('sliding_log')}(CASE WHEN cardinality(state) % 2 = 0 THEN state END, now, step) END
$$;

CREATE OR REPLACE FUNCTION ${fn('foreign_in')}(tat int8, counts int8[], step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN step[1] = 1 THEN CASE WHEN cardinality(counts) NOT IN (5, 7) THEN counts END
    WHEN tat IS NOT NULL THEN ARRAY[tat]
    WHEN CASE step[1] WHEN 2 THEN cardinality(counts) <> 3 WHEN 4 THEN cardinality(counts) <> 9
      WHEN 5 THEN cardinality(counts) <> 11 ELSE cardinality(counts) % 2 = 1 END THEN counts END
$$;

CREATE OR REPLACE FUNCTION ${fn('used_by')}(state int8[], now int8, span int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE micros int8; units int8;
BEGIN
  CASE cardinality(state)
    WHEN 1, 5, 7 THEN micros := abs(state[1]) - now;
    WHEN 9 THEN micros := state[2] - greatest(now - state[1], 0);
    WHEN 11 THEN
      RETURN ARRAY[CASE WHEN state[4] > 0 AND state[4] <= now THEN 0 ELSE state[3] END, least(state[2], now),
        greatest(state[4] - now, 0)];
    WHEN 3 THEN
      RETURN ARRAY[state[2] + state[3], least(state[1], now), 0];
    ELSE
      SELECT sum(state[i + 1]) INTO units FROM generate_series(1, cardinality(state), 2) i WHERE state[i] > now - span;
      RETURN ARRAY[coalesce(units, 0), least(state[cardinality(state) - 1], now), 0];
  END CASE;
  RETURN ARRAY[0, now, CASE WHEN micros > 0 AND micros <= 2 * span THEN micros ELSE 0 END];
END
$$;

CREATE OR REPLACE FUNCTION ${fn('adopted')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  span CONSTANT int8 := CASE step[1] WHEN 1 THEN step[6] * CASE step[12] WHEN 0 THEN 1 ELSE step[14] END
    WHEN 2 THEN step[6] * step[7] WHEN 4 THEN ${2 ** 61} ELSE step[6] END;
  used CONSTANT int8[] := ${fn('used_by')}(state, now, span);
  since int8 := used[2]; units int8; tick int8; share int8; part float8;
BEGIN
  IF step[1] = 1 THEN
    tick := ${fn('tick_of')}(now, step);
    share := CASE step[12] WHEN 0 THEN used[3] ELSE (used[3] + step[14] - 1) / step[14] END;
    units := least(greatest(used[1]::float8 * abs(step[3]) - (tick - ${fn('tick_of')}(since, step)), share), step[6]);
    RETURN CASE WHEN units > 0 THEN ARRAY[${fn('full_moment')}(tick + units, step)] END;
  END IF;
  IF step[1] = 4 THEN
    units := least(greatest(used[3], used[1]::float8 * step[3] - (now - since)), ${LONGEST});
    RETURN CASE WHEN step[3] > 0 AND units > 0 THEN ARRAY[now, units, 0, 2 * step[6], step[8], 0, 0, 0, 0] END;
  END IF;
  part := ceil(used[3]::float8 * step[5] / span);
  units := CASE WHEN now - since < span THEN least(used[1], step[5]) ELSE 0 END;
  IF part > units THEN units := least(part, step[5]); since := now; END IF;
  IF step[14] > 0 THEN
    tick := (${fn('window_at')}(step[11:14], NULL::int8[], now))[1];
    RETURN CASE WHEN units > 0 AND since >= tick THEN ARRAY[tick, units, 0] END;
  END IF;
  RETURN CASE WHEN units = 0 THEN NULL
    WHEN step[1] = 3 THEN ARRAY[since, units]
    WHEN step[1] = 5 THEN ARRAY[now, since, units, 0, 0, 0, 0, 0, 0, 0, 0]
    ELSE ARRAY[since, units, 0] END;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('state_of')}(outcome int8[], step int8[], takes bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN outcome[CASE WHEN takes THEN 2 ELSE 3 END] = 1 THEN CASE
    WHEN step[1] = 2 AND takes THEN outcome[7:9]
    WHEN step[1] = 2 THEN outcome[4:6]
    WHEN step[1] = 4 AND takes THEN outcome[13:21]
    WHEN step[1] = 4 THEN outcome[4:12]
    WHEN step[1] = 5 AND takes AND step[3] <> 0 THEN outcome[15:25]
    WHEN step[1] = 5 THEN outcome[4:14]
    WHEN takes THEN outcome[outcome[4] + 5:]
    ELSE outcome[5:outcome[4] + 4] END END
$$;

CREATE OR REPLACE FUNCTION ${fn('taken_of')}(outcome int8[], now int8, step int8[], written bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN step[1] = 3 THEN ${fn('read_log')}(outcome, now, step, written)
    WHEN step[1] = 4 THEN outcome[1] || outcome[5:7] || CASE WHEN written THEN outcome[14:16] ELSE outcome[5:7] END
    WHEN step[1] = 5 THEN outcome[1] || CASE WHEN written THEN outcome[16:20] ELSE outcome[5:9] END
    WHEN written THEN outcome[1] || outcome[7:9]
    ELSE outcome[1] || outcome[4:6] END
$$;

CREATE OR REPLACE FUNCTION ${fn('empty_at')}(state int8[], now int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE step[1]
    WHEN 2 THEN CASE WHEN step[14] > 0 THEN ${fn('end_of')}(step[11:14], state[1])
      ELSE state[1] + (2 - step[10]) * step[6] * step[7] END
    WHEN 4 THEN state[1] + state[2] + greatest(2 * step[6] - state[4], 0)
    WHEN 5 THEN CASE
      WHEN state[4] > 0 THEN state[4] + step[10]
      WHEN state[5] > 0 THEN greatest(state[6] + step[10], state[2] + step[6])
      ELSE state[2] + step[6] END
    ELSE coalesce(state[cardinality(state) - 1], now) + step[6] END
$$;
`

/** The step of an op. */
const loadSql = `IF k <> loaded THEN step := step_numbers[24 * k - 23:24 * k]; loaded := k; END IF;`

/**
 * Reads the states into the variables, by name; a missing row is null. The counts beside a `tat` are in `scales` and
 * `earlies`. Those of other states are text, because the arrays of an array have one length.
 */
const readSql = (rows: string): string => `
      FOR stored IN ${rows} LOOP
        WHILE state_names[i] <> stored.name COLLATE "C" LOOP i := i + 1; END LOOP;
        row_exists[i] := true; tats[i] := stored.tat;
        IF stored.counts IS NOT NULL THEN
          IF stored.tat IS NULL THEN counts_text[i] := stored.counts::text;
          ELSE scales[i] := stored.counts[1]; earlies[i] := stored.counts[2]; END IF;
        END IF;
      END LOOP;`

/**
 * Takes many calls in order, each all-or-nothing, and returns their results.
 *
 * It first runs the calls without locks and writes. Only if a state must change, it locks the rows in the order of their
 * names, which prevents deadlocks, reads the clock, and runs the calls again on the current states. A missing row cannot
 * be locked: the first insert wins, and the other take starts again. If it holds locks on other rows, it does so in a
 * new transaction, because it would hold them out of order.
 *
 * - `names`: the states' names in order, one per line. `steps`: the 24 numbers of each step. `calls`: for each call
 *   the number of its ops, then for each op the indices of its name and its step, from 1.
 * - `at`: the time; null for the server's clock. `lock_timeout_ms`: also for the first read, which waits while the table is
 *   locked. `async_commit`: return before the commit is on disk.
 * - The result: now, then the result of each op.
 *
 * A row is kept for a minute or more after its state has expired, as `expirySql` says.
 */
export const takeSql = (names: Names): string => {
  const { table, fn } = names
  const rows = `SELECT t.name, t.tat, t.counts FROM ${table} t WHERE t.name = ANY (state_names) ORDER BY t.name`
  return `${aroundSql(names)}
CREATE OR REPLACE FUNCTION ${fn('take_calls')}(names text, steps text, calls text, at int8, lock_timeout_ms text, async_commit bool)
RETURNS text LANGUAGE plpgsql ${SAFE_PATH} SET plan_cache_mode = force_generic_plan SET array_nulls = on AS $$
DECLARE
  settings CONSTANT text := set_config('lock_timeout', lock_timeout_ms, true);
  state_names CONSTANT text[] := string_to_array(names, E'\\n');
  step_numbers CONSTANT int8[] := string_to_array(steps, ' ')::int8[];
  call_numbers CONSTANT int4[] := string_to_array(calls, ' ')::int4[];
  name_count CONSTANT int := cardinality(state_names);
  row_exists bool[]; tats int8[]; scales int8[]; earlies int8[]; counts_text text[]; empty_at int8[];
  refunded int8[]; adopted int8[]; row_counts int8[]; nothing_written bool;
  now int8; answer text; stored record;
  c int; i int; k int; ops int; loaded int; allowed_all bool; written bool;
  step int8[]; outcome int8[]; outcomes text[]; tat int8; gross int8; early int8; state int8[]; place int;
BEGIN
  <<attempts>>
  FOR attempt IN 0..9 LOOP
    row_exists := array_fill(false, ARRAY[name_count]); tats := array_fill(NULL::int8, ARRAY[name_count]);
    scales := NULL; earlies := NULL; counts_text := NULL; empty_at := NULL; refunded := NULL; row_counts := NULL; i := 1;
    IF attempt = 0 THEN${readSql(rows)}
    ELSE
      IF attempt = 1 AND async_commit THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;${readSql(`${rows} FOR UPDATE`)}
    END IF;
    now := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
    answer := now; loaded := 0; c := 1;

    WHILE c < cardinality(call_numbers) LOOP
      ops := call_numbers[c]; allowed_all := true;
      FOR op IN 1..ops LOOP
        i := call_numbers[c + 2 * op - 1]; k := call_numbers[c + 2 * op];
        ${loadSql}
        IF step[1] > 1 OR counts_text IS NOT NULL THEN
          adopted := ${fn('adopted')}(${fn('foreign_in')}(tats[i], counts_text[i]::int8[], step), now, step);
        END IF;
        IF step[1] = 1 THEN
          IF counts_text IS NOT NULL THEN refunded := ${fn('refunded_in')}(counts_text[i]::int8[]); END IF;
          outcome := ${fn('bucket')}(coalesce(tats[i], adopted[1]), coalesce(CASE WHEN scales[i] = step[18] THEN earlies[i] END, 0),
            refunded, now, step);
          IF adopted IS NOT NULL THEN outcome[13] := adopted[1]; outcome[16] := 0; END IF;
        ELSE
          outcome := ${fn('run_kernel')}(coalesce(adopted, counts_text[i]::int8[]), now, step);
          IF adopted IS NOT NULL THEN outcome[2] := 1; outcome[3] := 1; END IF;
        END IF;
        adopted := NULL;
        allowed_all := allowed_all AND outcome[1] = 1;
        IF ops > 1 THEN outcomes[op] := outcome::text; END IF;
      END LOOP;
      FOR op IN 1..ops LOOP
        IF ops > 1 THEN
          i := call_numbers[c + 2 * op - 1]; k := call_numbers[c + 2 * op];
          ${loadSql}
          outcome := outcomes[op]::int8[];
        END IF;
        written := allowed_all AND step[2] = 0;
        IF step[1] = 1 THEN
          IF written THEN answer := concat_ws(' ', answer, array_to_string(outcome[1:CASE WHEN step[18] > 1 THEN 7 ELSE 4 END], ' '));
          ELSIF step[18] > 1 THEN
            answer := concat_ws(' ', answer, outcome[1], outcome[2], outcome[2], outcome[2], outcome[5], outcome[5], outcome[5]);
          ELSE answer := concat_ws(' ', answer, outcome[1], outcome[2], outcome[2], outcome[2]); END IF;
          place := CASE WHEN allowed_all THEN 8 ELSE 13 END;
          tat := outcome[place];
          CONTINUE WHEN step[2] = 1 OR tat IS NULL;
          gross := outcome[place + 1];
          IF gross IS NULL THEN
            early := outcome[place + 3];
            CONTINUE WHEN tat = tats[i] AND early = coalesce(earlies[i], 0) AND (early = 0 OR scales[i] = step[18]);
            CONTINUE attempts WHEN attempt = 0;
            tats[i] := tat; empty_at[i] := abs(tat) + step[17];
            IF early > 0 OR earlies[i] > 0 THEN scales[i] := step[18]; earlies[i] := early; END IF;
            IF counts_text[i] IS NOT NULL THEN counts_text[i] := NULL; END IF;
          ELSE
            state := ARRAY[tat, gross, outcome[place + 2], 0] || CASE WHEN outcome[place + 3] + outcome[place + 4] > 0
              THEN ARRAY[step[18], outcome[place + 3], outcome[place + 4]] ELSE ARRAY[0]::int8[] END;
            CONTINUE WHEN state = counts_text[i]::int8[];
            CONTINUE attempts WHEN attempt = 0;
            tats[i] := NULL; earlies[i] := NULL; empty_at[i] := gross + step[17]; counts_text[i] := state::text;
          END IF;
        ELSE
          answer := concat_ws(' ', answer, array_to_string(${fn('taken_of')}(outcome, now, step, written), ' '));
          state := ${fn('state_of')}(outcome, step, allowed_all);
          CONTINUE WHEN step[2] = 1 OR state IS NULL OR state = counts_text[i]::int8[];
          CONTINUE attempts WHEN attempt = 0;
          tats[i] := NULL; earlies[i] := NULL; empty_at[i] := ${fn('empty_at')}(state, now, step);
          counts_text[i] := state::text;
        END IF;
      END LOOP;
      c := c + 1 + 2 * ops;
    END LOOP;

    nothing_written := true;
    FOR w IN coalesce(array_lower(empty_at, 1), 1)..coalesce(array_upper(empty_at, 1), 0) LOOP
      CONTINUE WHEN empty_at[w] IS NULL;
      IF scales IS NOT NULL OR counts_text IS NOT NULL THEN
        row_counts := CASE WHEN earlies[w] > 0 THEN ARRAY[scales[w], earlies[w]] ELSE counts_text[w]::int8[] END;
      END IF;
      IF row_exists[w] THEN
        UPDATE ${table} t SET tat = tats[w], counts = row_counts,
          expires = ${expirySql('empty_at[w]', 't.expires')} WHERE t.name = state_names[w]
        RETURNING t.tat IS NOT DISTINCT FROM tats[w] AND t.counts IS NOT DISTINCT FROM row_counts INTO written;
        IF written IS NOT TRUE THEN
          RAISE triggered_action_exception USING MESSAGE = 'spillway: a trigger of the table has changed or suppressed an update';
        END IF;
      ELSE
        INSERT INTO ${table} (name, tat, counts, expires) VALUES (state_names[w], tats[w], row_counts, ${expirySql('empty_at[w]')})
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
          CONTINUE attempts WHEN nothing_written AND true <> ALL (row_exists);
          EXIT attempts;
        END IF;
      END IF;
      nothing_written := false;
    END LOOP;
    RETURN answer;
  END LOOP;
  RAISE serialization_failure USING MESSAGE = 'spillway: another take was first to write a new state';
END
$$;
`
}
