import { LONGEST } from '@spillway/core/internal'
import {
  BUCKET_OUTCOME,
  BUCKET_STEP,
  FRACTION,
  fieldsOf,
  KERNELS,
  LOG_OUTCOME,
  LOGS,
  OUTCOME,
  PENALTY,
  PENALTY_STEP,
  partOf,
  placeOf,
  REFUNDED,
  SLIDING_LOG_STEP,
  SLIDING_WINDOW_STEP,
  SLOT_LISTS,
  SLOTS,
  SLOTS_OUTCOME,
  STEP_SIZE,
  stateIn,
  USED,
  WARM_UP,
  WARM_UP_STEP,
  WINDOW,
  writtenAfter,
} from './layout.ts'
import { expirySql, type Names, SAFE_PATH } from './names.ts'

const { kernel, peek, increment } = fieldsOf('step', BUCKET_STEP)
const bucket = fieldsOf('step', BUCKET_STEP)
const window = fieldsOf('step', SLIDING_WINDOW_STEP)
const log = fieldsOf('step', SLIDING_LOG_STEP)
const warmUp = fieldsOf('step', WARM_UP_STEP)
const penalty = fieldsOf('step', PENALTY_STEP)
const windowState = fieldsOf('state', WINDOW)
const warmUpState = fieldsOf('state', WARM_UP)
const penaltyState = fieldsOf('state', PENALTY)
const used = fieldsOf('used', USED)
const outcome = fieldsOf('outcome', LOG_OUTCOME)
const ofSlots = fieldsOf('outcome', SLOTS_OUTCOME)
const ofBucket = fieldsOf('outcome', BUCKET_OUTCOME)
const fraction = fieldsOf('stored.counts', FRACTION)
const starts = partOf('step', SLIDING_WINDOW_STEP, 'start1', 'start4')
/** The lengths of the states of a bucket with refunds: of whole microseconds, and of parts. */
const REFUNDED_SIZES = `${placeOf(REFUNDED, 'scale')}, ${REFUNDED.length}`
/** Whether a state has slots. */
const HAS_SLOTS = `cardinality(state) >= ${SLOTS.length} AND cardinality(state) % 2 = 1`

/**
 * Runs the SQL kernels, as `runKernel` of core does: selects the kernel of a step, its state, and its result.
 * It covers the kernels with counts; `take_calls` runs the bucket itself. `foreign_in` is the state of another kernel, and
 * `adopted` the state that a kernel makes of it: `used.ts` and `kernels.ts` of core, in the same double precision.
 */
const aroundSql = ({ fn }: Names): string => `
CREATE OR REPLACE FUNCTION ${fn('refunded_in')}(counts int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN cardinality(counts) IN (${REFUNDED_SIZES}) THEN counts END
$$;

CREATE OR REPLACE FUNCTION ${fn('run_kernel')}(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE ${kernel}
    WHEN ${KERNELS['sliding-window']} THEN ${fn('sliding_window')}(CASE WHEN cardinality(state) = ${WINDOW.length} THEN state END, now, step)
    WHEN ${KERNELS['warm-up']} THEN ${fn('warm_up')}(CASE WHEN cardinality(state) = ${WARM_UP.length} THEN state END, now, step)
    WHEN ${KERNELS.penalty} THEN ${fn('penalty')}(CASE WHEN cardinality(state) = ${PENALTY.length} THEN state END, now, step)
    WHEN ${KERNELS.slots} THEN ${fn('slots')}(CASE WHEN ${HAS_SLOTS} THEN state END, now, step)
    ELSE ${fn('sliding_log')}(CASE WHEN cardinality(state) % 2 = 0 THEN state END, now, step) END
$$;

CREATE OR REPLACE FUNCTION ${fn('foreign_in')}(tat int8, counts int8[], step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN ${kernel} = ${KERNELS.bucket} THEN CASE WHEN cardinality(counts) NOT IN (${REFUNDED_SIZES}) THEN counts END
    WHEN tat IS NOT NULL THEN ARRAY[tat]
    WHEN CASE ${kernel} WHEN ${KERNELS['sliding-window']} THEN cardinality(counts) <> ${WINDOW.length} WHEN ${KERNELS['warm-up']} THEN cardinality(counts) <> ${WARM_UP.length}
      WHEN ${KERNELS.penalty} THEN cardinality(counts) <> ${PENALTY.length}
      WHEN ${KERNELS.slots} THEN false ELSE cardinality(counts) % 2 = 1 END THEN counts END
$$;

CREATE OR REPLACE FUNCTION ${fn('used_by')}(state int8[], now int8, span int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE micros int8; units int8;
BEGIN
  IF ${HAS_SLOTS} THEN RETURN ARRAY[0, now, 0]; END IF;
  CASE cardinality(state)
    WHEN 1, ${REFUNDED_SIZES} THEN micros := abs(state[1]) - now;
    WHEN ${WARM_UP.length} THEN micros := ${warmUpState.ahead} - greatest(now - ${warmUpState.writtenAt}, 0);
    WHEN ${PENALTY.length} THEN
      RETURN ARRAY[CASE WHEN ${penaltyState.until} > 0 AND ${penaltyState.until} <= now THEN 0 ELSE ${penaltyState.count} END, least(${penaltyState.first}, now),
        greatest(${penaltyState.until} - now, 0)];
    WHEN ${WINDOW.length} THEN
      RETURN ARRAY[${windowState.current} + ${windowState.previous}, least(${windowState.start}, now), 0];
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
  span CONSTANT int8 := CASE ${kernel} WHEN ${KERNELS.bucket} THEN ${bucket.ceiling} * CASE ${bucket.interval} WHEN 0 THEN 1 ELSE ${bucket.tick} END
    WHEN ${KERNELS['sliding-window']} THEN ${window.ticks} * ${window.tick} WHEN ${KERNELS['warm-up']} THEN ${2 ** 61} ELSE ${log.window} END;
  used CONSTANT int8[] := ${fn('used_by')}(state, now, span);
  since int8 := ${used.since}; units int8; tick int8; share int8; part float8;
BEGIN
  IF ${kernel} = ${KERNELS.bucket} THEN
    tick := ${fn('tick_of')}(now, step);
    share := CASE ${bucket.interval} WHEN 0 THEN ${used.micros} ELSE (${used.micros} + ${bucket.tick} - 1) / ${bucket.tick} END;
    units := least(greatest(${used.units}::float8 * abs(${increment}) - (tick - ${fn('tick_of')}(since, step)), share), ${bucket.ceiling});
    RETURN CASE WHEN units > 0 THEN ARRAY[${fn('full_moment')}(tick + units, step)] END;
  END IF;
  IF ${kernel} = ${KERNELS['warm-up']} THEN
    units := least(greatest(${used.micros}, ${used.units}::float8 * ${increment} - (now - since)), ${LONGEST});
    RETURN CASE WHEN ${increment} > 0 AND units > 0 THEN ARRAY[now, units, 0, 2 * ${warmUp.half}, ${warmUp.scale}, 0, 0, 0, 0] END;
  END IF;
  part := ceil(${used.micros}::float8 * ${window.limit} / span);
  units := CASE WHEN now - since < span THEN least(${used.units}, ${window.limit}) ELSE 0 END;
  IF part > units THEN units := least(part, ${window.limit}); since := now; END IF;
  IF ${window.start4} > 0 THEN
    tick := (${fn('window_at')}(${starts}, NULL::int8[], now))[1];
    RETURN CASE WHEN units > 0 AND since >= tick THEN ARRAY[tick, units, 0] END;
  END IF;
  RETURN CASE WHEN units = 0 OR ${kernel} = ${KERNELS.slots} THEN NULL
    WHEN ${kernel} = ${KERNELS['sliding-log']} THEN ARRAY[since, units]
    WHEN ${kernel} = ${KERNELS.penalty} THEN ARRAY[now, since, units, 0, 0, 0, 0, 0, 0, 0, 0]
    ELSE ARRAY[${fn('start_at')}(since, step), units, 0] END;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('state_of')}(outcome int8[], step int8[], takes bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN outcome[CASE WHEN takes THEN ${placeOf(OUTCOME, 'isTaken')} ELSE ${placeOf(OUTCOME, 'isKept')} END] = 1 THEN CASE
    WHEN ${kernel} = ${KERNELS['sliding-window']} AND takes THEN ${stateIn('next', WINDOW)}
    WHEN ${kernel} = ${KERNELS['sliding-window']} THEN ${stateIn('base', WINDOW)}
    WHEN ${kernel} = ${KERNELS['warm-up']} AND takes THEN ${stateIn('next', WARM_UP)}
    WHEN ${kernel} = ${KERNELS['warm-up']} THEN ${stateIn('base', WARM_UP)}
    WHEN ${kernel} = ${KERNELS.penalty} AND takes AND ${increment} <> 0 THEN ${stateIn('next', PENALTY)}
    WHEN ${kernel} = ${KERNELS.penalty} THEN ${stateIn('base', PENALTY)}
    WHEN ${kernel} = ${KERNELS.slots} AND takes THEN ${SLOT_LISTS.next}
    WHEN ${kernel} = ${KERNELS.slots} THEN ${SLOT_LISTS.base}
    WHEN takes THEN ${LOGS.next}
    ELSE ${LOGS.base} END END
$$;

CREATE OR REPLACE FUNCTION ${fn('taken_of')}(outcome int8[], now int8, step int8[], written bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN ${kernel} = ${KERNELS['sliding-log']} THEN ${fn('read_log')}(outcome, now, step, written)
    WHEN ${kernel} = ${KERNELS.slots} THEN ARRAY[${outcome.allowed}, ${fn('slots_used')}(CASE WHEN written THEN ${SLOT_LISTS.next} ELSE ${SLOT_LISTS.base} END, now), CASE WHEN written THEN ${ofSlots.id} ELSE 0 END]
    WHEN ${kernel} = ${KERNELS['warm-up']} THEN ${outcome.allowed} || ${stateIn('base', WARM_UP, 'ahead', 'cold')} || CASE WHEN written THEN ${stateIn('next', WARM_UP, 'ahead', 'cold')} ELSE ${stateIn('base', WARM_UP, 'ahead', 'cold')} END
    WHEN ${kernel} = ${KERNELS.penalty} THEN ${outcome.allowed} || CASE WHEN written THEN ${stateIn('next', PENALTY, 'first', 'last')} ELSE ${stateIn('base', PENALTY, 'first', 'last')} END
    WHEN written THEN ${outcome.allowed} || ${stateIn('next', WINDOW)}
    ELSE ${outcome.allowed} || ${stateIn('base', WINDOW)} END
$$;

CREATE OR REPLACE FUNCTION ${fn('empty_at')}(state int8[], now int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE ${kernel}
    WHEN ${KERNELS['sliding-window']} THEN CASE WHEN ${window.start4} > 0 THEN ${fn('end_of')}(${starts}, ${windowState.start})
      ELSE ${windowState.start} + (2 - ${window.fixed}) * ${window.ticks} * ${window.tick} END
    WHEN ${KERNELS['warm-up']} THEN ${warmUpState.writtenAt} + ${warmUpState.ahead} + greatest(2 * ${warmUp.half} - ${warmUpState.cold}, 0)
    WHEN ${KERNELS.penalty} THEN CASE
      WHEN ${penaltyState.until} > 0 THEN ${penaltyState.until} + ${penalty.forgive}
      WHEN ${penaltyState.level} > 0 THEN greatest(${penaltyState.last} + ${penalty.forgive}, ${penaltyState.first} + ${penalty.window})
      ELSE ${penaltyState.first} + ${penalty.window} END
    WHEN ${KERNELS.slots} THEN ${fn('slots_free_at')}(state)
    ELSE coalesce(state[cardinality(state) - 1], now) + ${log.window} END
$$;
`

/** The step of an op. */
const loadSql = `IF k <> loaded THEN step := step_numbers[${STEP_SIZE} * k - ${STEP_SIZE - 1}:${STEP_SIZE} * k]; loaded := k; END IF;`

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
          ELSE scales[i] := ${fraction.scale}; earlies[i] := ${fraction.early}; END IF;
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
 * - `names`: the states' names in order, one per line. `steps`: the numbers of each step. `calls`: for each call
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
        IF ${kernel} > ${KERNELS.bucket} OR counts_text IS NOT NULL THEN
          adopted := ${fn('adopted')}(${fn('foreign_in')}(tats[i], counts_text[i]::int8[], step), now, step);
        END IF;
        IF ${kernel} = ${KERNELS.bucket} THEN
          IF counts_text IS NOT NULL THEN refunded := ${fn('refunded_in')}(counts_text[i]::int8[]); END IF;
          outcome := ${fn('bucket')}(coalesce(tats[i], adopted[1]), coalesce(CASE WHEN scales[i] = ${bucket.scale} THEN earlies[i] END, 0),
            refunded, now, step);
          IF adopted IS NOT NULL THEN ${ofBucket.keptTat} := adopted[1]; ${ofBucket.keptEarly} := 0; END IF;
        ELSE
          outcome := ${fn('run_kernel')}(coalesce(adopted, counts_text[i]::int8[]), now, step);
          IF adopted IS NOT NULL THEN ${outcome.isTaken} := 1; ${outcome.isKept} := 1; END IF;
        END IF;
        adopted := NULL;
        allowed_all := allowed_all AND ${outcome.allowed} = 1;
        IF ops > 1 THEN outcomes[op] := outcome::text; END IF;
      END LOOP;
      FOR op IN 1..ops LOOP
        IF ops > 1 THEN
          i := call_numbers[c + 2 * op - 1]; k := call_numbers[c + 2 * op];
          ${loadSql}
          outcome := outcomes[op]::int8[];
        END IF;
        written := allowed_all AND ${peek} = 0;
        IF ${kernel} = ${KERNELS.bucket} THEN
          IF written THEN answer := concat_ws(' ', answer, array_to_string(outcome[1:CASE WHEN ${bucket.scale} > 1 THEN ${placeOf(BUCKET_OUTCOME, 'grossNextEarly')} ELSE ${placeOf(BUCKET_OUTCOME, 'grossNext')} END], ' '));
          ELSIF ${bucket.scale} > 1 THEN
            answer := concat_ws(' ', answer, ${ofBucket.allowed}, ${ofBucket.base}, ${ofBucket.base}, ${ofBucket.base}, ${ofBucket.baseEarly}, ${ofBucket.baseEarly}, ${ofBucket.baseEarly});
          ELSE answer := concat_ws(' ', answer, ${ofBucket.allowed}, ${ofBucket.base}, ${ofBucket.base}, ${ofBucket.base}); END IF;
          place := CASE WHEN allowed_all THEN ${placeOf(BUCKET_OUTCOME, 'takenTat')} ELSE ${placeOf(BUCKET_OUTCOME, 'keptTat')} END;
          tat := ${writtenAfter('place', 'tat')};
          CONTINUE WHEN ${peek} = 1 OR tat IS NULL;
          gross := ${writtenAfter('place', 'gross')};
          IF gross IS NULL THEN
            early := ${writtenAfter('place', 'early')};
            CONTINUE WHEN tat = tats[i] AND early = coalesce(earlies[i], 0) AND (early = 0 OR scales[i] = ${bucket.scale});
            CONTINUE attempts WHEN attempt = 0;
            tats[i] := tat; empty_at[i] := abs(tat) + ${bucket.keep};
            IF early > 0 OR earlies[i] > 0 THEN scales[i] := ${bucket.scale}; earlies[i] := early; END IF;
            IF counts_text[i] IS NOT NULL THEN counts_text[i] := NULL; END IF;
          ELSE
            state := ARRAY[tat, gross, ${writtenAfter('place', 'turn')}, 0] || CASE WHEN ${writtenAfter('place', 'early')} + ${writtenAfter('place', 'grossEarly')} > 0
              THEN ARRAY[${bucket.scale}, ${writtenAfter('place', 'early')}, ${writtenAfter('place', 'grossEarly')}] ELSE ARRAY[0]::int8[] END;
            CONTINUE WHEN state = counts_text[i]::int8[];
            CONTINUE attempts WHEN attempt = 0;
            tats[i] := NULL; earlies[i] := NULL; empty_at[i] := gross + ${bucket.keep}; counts_text[i] := state::text;
          END IF;
        ELSE
          answer := concat_ws(' ', answer, array_to_string(${fn('taken_of')}(outcome, now, step, written), ' '));
          state := ${fn('state_of')}(outcome, step, allowed_all);
          CONTINUE WHEN ${peek} = 1 OR state IS NULL OR state = counts_text[i]::int8[];
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
