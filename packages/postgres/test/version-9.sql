-- Spillway's states and functions, version 9. Runs in one transaction, and can be run again.
SELECT pg_advisory_xact_lock(hashtextextended('spillway public.spillway', 0));

CREATE TABLE IF NOT EXISTS "public"."spillway" (
  name text COLLATE "C" PRIMARY KEY, -- policy/key; a hash replaces either if it is long or not plain text
  tat int8,                          -- a bucket's theoretical arrival time; after refunds counts has: tat, gross, turn, 0, 0
  counts int8[],                     -- a sliding window: start, current, previous; a log: time, units, …
                                     -- a key's that warms up: at, ahead, early, cold, scale, 0, 0, 0, 0
                                     -- beside tat: scale, early: so many parts of a microsecond earlier than tat
  expires int8 NOT NULL              -- microseconds since 1970: afterwards the row may be swept
) WITH (fillfactor = 50);            -- room for new row versions on the same page: updates need not change the indexes
CREATE INDEX IF NOT EXISTS "spillway_expires" ON "public"."spillway" (expires);

CREATE OR REPLACE FUNCTION "public"."spillway_tick_of"(now int8, every int8, amount int8, shift int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE every WHEN 0 THEN now ELSE (now + shift) / every * amount END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_full_tick"(moment int8, every int8, amount int8, unit int8, shift int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE every WHEN 0 THEN moment
    ELSE (moment + shift - every) / every * amount + least(((moment + shift - every) % every + unit - 1) / unit, amount) END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_full_moment"(tick int8, every int8, amount int8, unit int8, shift int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE every WHEN 0 THEN tick ELSE tick / amount * every + tick % amount * unit + every - shift END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_carry"(early int8, scale int8) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN early < 0 THEN 1 WHEN early < scale THEN 0 ELSE -1 END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_state_at"
  (tick int8, early int8, gross int8, gross_early int8, turn int8, at int8,
   ceiling int8, every int8, amount int8, unit int8, shift int8) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[
    CASE WHEN tick - at > ceiling THEN -1 ELSE 1 END * "public"."spillway_full_moment"(tick, every, amount, unit, shift),
    CASE WHEN gross <> tick OR gross_early <> early OR turn > at
      THEN "public"."spillway_full_moment"(gross, every, amount, unit, shift) END,
    CASE WHEN turn > at THEN "public"."spillway_full_moment"(turn, every, amount, unit, shift) ELSE 0 END,
    early,
    gross_early]
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_returned_by"
  (last bool, at int8, base int8, early int8, gross int8, gross_early int8, turn int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  scale CONSTANT int8 := step[18];
  until CONSTANT int8 := step[8];
  tick int8 := base - at; part int8 := early; ends int8 := step[10]; ends_early int8 := 0; over int8;
BEGIN
  IF NOT last AND until <> 9007199254740991 THEN
    IF (gross, -gross_early) < (until, -step[23]) THEN RETURN ARRAY[0, 0]; END IF;
    part := step[23] - gross_early + early;
    over := "public"."spillway_carry"(part, scale);
    tick := until - (gross - base) + over;
    part := part + over * scale;
    IF (base, -early) < (ends, 0) THEN ends := base; ends_early := early; END IF;
    IF (tick, -part) < (ends, -ends_early) THEN tick := ends; part := ends_early; END IF;
    tick := tick - greatest(at, turn);
    IF tick <= 0 THEN RETURN ARRAY[0, 0]; END IF;
  END IF;
  RETURN CASE WHEN (tick, -part) < (-step[3], step[19]) THEN ARRAY[tick, part] ELSE ARRAY[-step[3], -step[19]] END;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_bucket"(state int8, refunded int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ceiling CONSTANT int8 := step[6];
  every CONSTANT int8 := step[12];
  scale CONSTANT int8 := step[18];
  stored int8 := coalesce(state, refunded[1]);
  amount int8; unit int8 := 1; shift int8;
  at int8 := now;
  due int8 := now + step[7];
  tat int8 := coalesce(abs(stored), now);
  gross int8; turn int8 := 0; early int8 := 0; gross_early int8 := 0;
  honest bool; base int8; change int8 := step[3]; part int8 := step[19]; next int8; gross_next int8; turn_next int8;
  fits_at int8; last bool; newest int8; returned int8[]; next_early int8 := 0; gross_next_early int8 := 0;
  taken int8[]; kept int8[]; started bool := false;
BEGIN
  IF step[16] > 0 AND coalesce(abs(state), refunded[2], 0) + step[17] <= now THEN
    stored := "public"."spillway_full_moment"("public"."spillway_tick_of"(now, every, step[13], step[15]) + step[16], every, step[13], step[14], step[15]);
    refunded := NULL; tat := stored; started := true;
    IF step[24] > 0 THEN refunded := ARRAY[stored, stored, 0, 0, scale, step[24], step[24]]; END IF;
  END IF;
  IF every > 0 THEN
    amount := step[13]; unit := step[14]; shift := step[15];
    at := "public"."spillway_tick_of"(now, every, amount, shift);
    due := "public"."spillway_tick_of"(now + step[7], every, amount, shift);
    tat := CASE WHEN stored IS NULL THEN at ELSE "public"."spillway_full_tick"(abs(stored), every, amount, unit, shift) END;
  END IF;
  honest := stored IS NULL OR stored < 0 OR tat - at <= ceiling;
  base := greatest(CASE WHEN honest THEN tat ELSE at + ceiling END, at);
  gross := greatest(tat, base);
  IF refunded IS NOT NULL THEN
    gross := "public"."spillway_full_tick"(refunded[2], every, amount, unit, shift);
    IF refunded[3] > 0 THEN turn := "public"."spillway_full_tick"(refunded[3], every, amount, unit, shift); END IF;
    IF scale > 1 AND refunded[5] = scale THEN early := refunded[6]; gross_early := refunded[7]; END IF;
    IF NOT honest OR base = at THEN early := 0; END IF;
    IF (gross, -gross_early) < (base, -early) THEN gross := base; gross_early := early; END IF;
  END IF;
  IF NOT honest THEN
    turn := gross;
    IF (gross - base) * unit > 3600000000 THEN gross := base; gross_early := early; turn := 0; END IF;
  END IF;
  fits_at := base + step[4] - step[5];
  turn_next := turn; gross_next := gross; gross_next_early := gross_early;
  IF change < 0 THEN
    last := step[8] = gross AND step[23] = gross_early;
    newest := greatest(turn, base - step[9] + "public"."spillway_carry"(early - step[22], scale));
    returned := "public"."spillway_returned_by"(last, at, base, early, gross, gross_early, newest, step);
    change := -returned[1]; part := -returned[2];
    IF change <> 0 AND NOT (last AND step[11] = 1 AND gross = base AND gross_early = early) THEN turn_next := newest; END IF;
  ELSE last := true;
  END IF;
  next := base + change;
  IF last THEN gross_next := gross + change; END IF;
  IF scale > 1 THEN
    fits_at := fits_at + "public"."spillway_carry"(early + step[20] - step[21], scale);
    next_early := early + part;
    next := next + "public"."spillway_carry"(next_early, scale);
    next_early := next_early + "public"."spillway_carry"(next_early, scale) * scale;
    IF last THEN
      gross_next_early := gross_early + part;
      gross_next := gross_next + "public"."spillway_carry"(gross_next_early, scale);
      gross_next_early := gross_next_early + "public"."spillway_carry"(gross_next_early, scale) * scale;
    END IF;
  END IF;
  IF gross_next > next + 1000000000000000 / unit THEN gross_next := next + 1000000000000000 / unit; gross_next_early := 0; END IF;
  taken := CASE WHEN stored IS NOT NULL OR next <> at THEN
      "public"."spillway_state_at"(next, next_early, gross_next, gross_next_early, turn_next, at, ceiling, every, amount, unit, shift)
    ELSE ARRAY[NULL, NULL, NULL, NULL, NULL]::int8[] END;
  kept := CASE WHEN honest AND NOT started THEN ARRAY[NULL, NULL, NULL, NULL, NULL]::int8[]
    ELSE "public"."spillway_state_at"(base, early, gross, gross_early, turn, at, ceiling, every, amount, unit, shift) END;
  RETURN ARRAY[(fits_at <= due)::int::int8, base, next, gross_next, early, next_early, gross_next_early] || taken || kept;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_turned"(state int8[], now int8, "window" int8) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN state IS NULL OR now - state[1] >= 2 * "window" THEN ARRAY[now, 0, 0]
    WHEN now < state[1] THEN ARRAY[now, state[2], state[3]]
    WHEN now - state[1] < "window" THEN state
    ELSE ARRAY[state[1] + "window", 0, state[2]] END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_sliding_window_less"(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  start CONSTANT int8 := base[1];
  give CONSTANT int8 := -step[3];
  since CONSTANT int8 := step[9];
  unknown CONSTANT bool := since = 0;
  in_previous CONSTANT bool := since = start - step[6] * step[7];
  from_current int8 := 0; from_previous int8 := 0;
BEGIN
  IF unknown OR since = start THEN from_current := least(give, base[2]); END IF;
  IF unknown OR in_previous THEN from_previous := least(give - from_current, base[3]); END IF;
  RETURN ARRAY[start, base[2] - from_current, base[3] - from_previous];
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_sliding_window"(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ticks CONSTANT int8 := step[6];
  tick CONSTANT int8 := step[7];
  base int8[]; rest int8; allowed bool; next int8[];
BEGIN
  base := "public"."spillway_turned"(CASE WHEN step[10] = 0 OR now - state[1] < ticks * tick THEN state END, now, ticks * tick);
  rest := ticks - (now - base[1]) / tick;
  allowed := base[3] * rest < (step[5] - base[2] - step[4] + 1) * ticks;
  next := CASE WHEN step[3] < 0 THEN "public"."spillway_sliding_window_less"(base, step)
    ELSE ARRAY[base[1], least(base[2] + step[3], step[8]), base[3]] END;
  RETURN ARRAY[
    allowed::int::int8,
    (state IS NOT NULL OR step[3] >= 0)::int::int8,
    (state IS NOT NULL AND state[1] > now)::int::int8] || base || next;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_units_of"(log int8[]) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE units int8 := 0;
BEGIN
  FOR i IN 2..cardinality(log) BY 2 LOOP units := units + log[i]; END LOOP;
  RETURN units;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_dated"(log int8[], now int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE past int := 1;
BEGIN
  WHILE log[past] < now LOOP past := past + 2; END LOOP;
  RETURN log[:past - 1] || now || "public"."spillway_units_of"(log[past:]);
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_live"(log int8[], now int8, "window" int8) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE first int := 1; rest int8[];
BEGIN
  WHILE first < cardinality(log) AND log[first] + "window" <= now LOOP first := first + 2; END LOOP;
  rest := CASE first WHEN 1 THEN log ELSE log[first:] END;
  RETURN CASE WHEN cardinality(rest) = 0 OR rest[cardinality(rest) - 1] <= now THEN rest
    ELSE "public"."spillway_dated"(rest, now) END;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_more"(log int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  size CONSTANT int := cardinality(log);
  owed CONSTANT bool := size > 0 AND "public"."spillway_units_of"(log) >= step[5];
BEGIN
  IF log[size - 1] IS DISTINCT FROM now AND NOT owed THEN RETURN log || now || step[3]; END IF;
  RETURN log[:size - 2] || now || log[size] + step[3];
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_sliding_log_less"(log int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  size CONSTANT int := cardinality(log);
  since CONSTANT int8 := step[7];
  give int8 := -step[3];
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

CREATE OR REPLACE FUNCTION "public"."spillway_fits_at"(log int8[], now int8, step int8[], units int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE over int8 := "public"."spillway_units_of"(log) + units - step[5];
BEGIN
  FOR i IN 1..cardinality(log) - 1 BY 2 LOOP
    EXIT WHEN over <= 0;
    over := over - log[i + 1];
    IF over <= 0 THEN RETURN log[i] + step[6]; END IF;
  END LOOP;
  RETURN now;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_sliding_log"(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  base CONSTANT int8[] := "public"."spillway_live"(coalesce(state, '{}'), now, step[6]);
  allowed CONSTANT bool := "public"."spillway_units_of"(base) + step[4] <= step[5];
  next CONSTANT int8[] := CASE WHEN step[3] < 0 THEN "public"."spillway_sliding_log_less"(base, step)
    ELSE "public"."spillway_more"(base, now, step) END;
  ahead CONSTANT bool := coalesce(state[cardinality(state) - 1] > now, false);
BEGIN
  RETURN ARRAY[
    allowed::int::int8,
    (state IS NOT NULL OR step[3] >= 0)::int::int8,
    ahead::int::int8,
    cardinality(base)] || base || next;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_read_log"(outcome int8[], now int8, step int8[], takes bool) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  base CONSTANT int8[] := outcome[5:outcome[4] + 4];
  log CONSTANT int8[] := CASE WHEN takes THEN outcome[outcome[4] + 5:] ELSE base END;
  used CONSTANT int8 := "public"."spillway_units_of"(log);
BEGIN
  RETURN ARRAY[
    outcome[1],
    used,
    "public"."spillway_fits_at"(base, now, step, step[4]),
    "public"."spillway_fits_at"(log, now, step, greatest(step[5] - used, 0) + 1),
    CASE cardinality(log) WHEN 0 THEN now ELSE log[cardinality(log) - 1] + step[6] END];
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_slowdown"(cold int8, less int8, half int8) RETURNS int8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  a CONSTANT int8 := greatest(cold - half, 0);
  b CONSTANT int8 := greatest(less - half, 0);
  high CONSTANT int8 := (a + b) / 131072;
  low CONSTANT int8 := (a + b) % 131072;
  product CONSTANT int8 := (a - b) * high;
BEGIN
  RETURN product / half * 131072 + (product % half * 131072 + (a - b) * low + half - 1) / half;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_found_warm_up"(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  half CONSTANT int8 := step[6];
  scale CONSTANT int8 := step[8];
  remaining CONSTANT int8 := state[2] - greatest(now - state[1], 0);
BEGIN
  IF state IS NULL THEN RETURN ARRAY[now, 0, 0, 2 * half, scale, 0, 0, 0, 0]; END IF;
  IF remaining > 0 THEN
    RETURN ARRAY[now, remaining, CASE WHEN state[5] = scale THEN state[3] ELSE 0 END,
      least(state[4], 2 * half), scale, 0, 0, 0, 0];
  END IF;
  RETURN ARRAY[now, 0, 0, least(state[4] - remaining, 2 * half), scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_take_warm_up"(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  scale CONSTANT int8 := step[8];
  tick int8 := base[2] + step[3];
  early int8 := base[3] + step[7];
  cold int8;
BEGIN
  IF early >= scale THEN tick := tick - 1; early := early - scale; END IF;
  cold := greatest(base[4] - (tick - base[2]), 0);
  RETURN ARRAY[base[1], tick + "public"."spillway_slowdown"(base[4], cold, step[6]), early, cold, scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_refund_warm_up"(base int8[], step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  half CONSTANT int8 := step[6];
  scale CONSTANT int8 := step[8];
  known CONSTANT bool := step[9] <> 9007199254740991;
  last CONSTANT bool := base[1] + base[2] = step[9] AND base[3] = step[10];
  cold int8; tick int8; early int8;
BEGIN
  IF base[2] = 0 OR known AND NOT last THEN RETURN base; END IF;
  cold := CASE WHEN known THEN step[11] ELSE least(base[4] - step[3], 2 * half) END;
  tick := base[2] + step[3] - CASE WHEN known THEN 0 ELSE "public"."spillway_slowdown"(cold, base[4], half) END;
  early := base[3] + step[7];
  IF early < 0 THEN tick := tick + 1; early := early + scale; END IF;
  IF tick > 0 THEN RETURN ARRAY[base[1], tick, early, cold, scale, 0, 0, 0, 0]; END IF;
  RETURN ARRAY[base[1], 0, 0, least(cold - tick, 2 * half), scale, 0, 0, 0, 0];
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_warm_up"(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE base int8[]; next int8[];
BEGIN
  base := "public"."spillway_found_warm_up"(state, now, step);
  next := CASE WHEN step[3] < 0 THEN "public"."spillway_refund_warm_up"(base, step) ELSE "public"."spillway_take_warm_up"(base, step) END;
  RETURN ARRAY[
    (base[2] + step[4] <= step[5])::int::int8,
    (state IS NOT NULL OR step[3] >= 0)::int::int8,
    (state IS NOT NULL AND state[1] > now)::int::int8] || base || next;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_bucket_state"(tat int8, counts int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN tat IS NOT NULL THEN ARRAY[tat, abs(tat), 0, 0, counts[1], counts[2], counts[2]]
    WHEN cardinality(counts) IN (5, 7) THEN counts END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_run_kernel"(state int8[], now int8, step int8[]) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE step[1]
    WHEN 2 THEN "public"."spillway_sliding_window"(CASE WHEN cardinality(state) = 3 THEN state END, now, step)
    WHEN 4 THEN "public"."spillway_warm_up"(CASE WHEN cardinality(state) = 9 THEN state END, now, step)
    ELSE "public"."spillway_sliding_log"(CASE WHEN cardinality(state) % 2 = 0 THEN state END, now, step) END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_state_of"(outcome int8[], step int8[], takes bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN outcome[CASE WHEN takes THEN 2 ELSE 3 END] = 1 THEN CASE
    WHEN step[1] = 2 AND takes THEN outcome[7:9]
    WHEN step[1] = 2 THEN outcome[4:6]
    WHEN step[1] = 4 AND takes THEN outcome[13:21]
    WHEN step[1] = 4 THEN outcome[4:12]
    WHEN takes THEN outcome[outcome[4] + 5:]
    ELSE outcome[5:outcome[4] + 4] END END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_taken_of"(outcome int8[], now int8, step int8[], written bool) RETURNS int8[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN step[1] = 3 THEN "public"."spillway_read_log"(outcome, now, step, written)
    WHEN step[1] = 4 THEN outcome[1] || outcome[5:7] || CASE WHEN written THEN outcome[14:16] ELSE outcome[5:7] END
    WHEN written THEN outcome[1] || outcome[7:9]
    ELSE outcome[1] || outcome[4:6] END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_spent_at"(state int8[], now int8, step int8[]) RETURNS int8
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE step[1]
    WHEN 2 THEN state[1] + (2 - step[10]) * step[6] * step[7]
    WHEN 4 THEN state[1] + state[2] + greatest(2 * step[6] - state[4], 0)
    ELSE coalesce(state[cardinality(state) - 1], now) + step[6] END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_take_all"(names text, steps text, calls text, at int8, patience text, lazy bool)
RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  named CONSTANT text[] := string_to_array(names, E'\n');
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
    IF attempt = 0 THEN
      FOR seen IN SELECT t.name, t.tat, t.counts FROM "public"."spillway" t WHERE t.name = ANY (named) ORDER BY t.name LOOP
        WHILE named[i] <> seen.name COLLATE "C" LOOP i := i + 1; END LOOP;
        there[i] := true; tats[i] := seen.tat;
        IF seen.counts IS NOT NULL THEN counted[i] := seen.counts::text; END IF;
      END LOOP;
    ELSE
      IF attempt = 1 THEN PERFORM set_config('lock_timeout', patience, true); END IF;
      IF attempt = 1 AND lazy THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
      FOR seen IN SELECT t.name, t.tat, t.counts FROM "public"."spillway" t WHERE t.name = ANY (named) ORDER BY t.name FOR UPDATE LOOP
        WHILE named[i] <> seen.name COLLATE "C" LOOP i := i + 1; END LOOP;
        there[i] := true; tats[i] := seen.tat;
        IF seen.counts IS NOT NULL THEN counted[i] := seen.counts::text; END IF;
      END LOOP;
    END IF;
    now := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
    answer := ARRAY[now]; loaded := 0; c := 1;

    WHILE c < cardinality(called) LOOP
      ops := called[c]; takes := true;
      FOR op IN 1..ops LOOP
        i := called[c + 2 * op - 1]; k := called[c + 2 * op];
        IF k <> loaded THEN
          step := CASE WHEN stepped[1] > 3 THEN stepped[24 * k - 22:24 * k + 1]
            ELSE stepped[15 * k - 14:15 * k] || '{0, 0, 1, 0, 0, 0, 0, 0, 0}' END;
          loaded := k;
        END IF;
        IF step[1] = 1 THEN
          state := NULL;
          IF counted[i] IS NOT NULL THEN state := "public"."spillway_bucket_state"(tats[i], counted[i]::int8[]); END IF;
          outcome := "public"."spillway_bucket"(tats[i], state, now, step);
        ELSE outcome := "public"."spillway_run_kernel"(CASE WHEN tats[i] IS NULL THEN counted[i]::int8[] END, now, step); END IF;
        takes := takes AND outcome[1] = 1;
        IF ops > 1 THEN outcomes[op] := outcome::text; END IF;
      END LOOP;
      FOR op IN 1..ops LOOP
        IF ops > 1 THEN
          i := called[c + 2 * op - 1]; k := called[c + 2 * op];
          IF k <> loaded THEN
          step := CASE WHEN stepped[1] > 3 THEN stepped[24 * k - 22:24 * k + 1]
            ELSE stepped[15 * k - 14:15 * k] || '{0, 0, 1, 0, 0, 0, 0, 0, 0}' END;
          loaded := k;
        END IF;
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
          answer := answer || "public"."spillway_taken_of"(outcome, now, step, written);
          state := "public"."spillway_state_of"(outcome, step, takes);
          CONTINUE WHEN step[2] = 1 OR state IS NULL OR state = counted[i]::int8[];
          CONTINUE attempts WHEN attempt = 0;
          tats[i] := NULL; spent[i] := "public"."spillway_spent_at"(state, now, step);
          counted[i] := state::text;
        END IF;
      END LOOP;
      c := c + 1 + 2 * ops;
    END LOOP;

    unwritten := true;
    FOR w IN coalesce(array_lower(spent, 1), 1)..coalesce(array_upper(spent, 1), 0) LOOP
      CONTINUE WHEN spent[w] IS NULL;
      IF there[w] THEN
        UPDATE "public"."spillway" t SET tat = tats[w], counts = counted[w]::int8[],
          expires = CASE WHEN t.expires >= spent[w] + 60000000 THEN t.expires
        ELSE spent[w] + 60000000 + least(greatest(4 * (spent[w] - now), 600000000), 86400000000) END WHERE t.name = named[w];
      ELSE
        INSERT INTO "public"."spillway" (name, tat, counts, expires) VALUES (named[w], tats[w], counted[w]::int8[], CASE WHEN NULL >= spent[w] + 60000000 THEN NULL
        ELSE spent[w] + 60000000 + least(greatest(4 * (spent[w] - now), 600000000), 86400000000) END)
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

CREATE OR REPLACE FUNCTION "public"."spillway_take_same"
  (named text, times int, increment int8, needed int8, tolerance int8, ceiling int8, patience int8,
   at int8, lock_patience text, lazy bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  settings CONSTANT text := concat(set_config('lock_timeout', lock_patience, true),
    CASE WHEN lazy THEN set_config('synchronous_commit', 'off', true) END);
  total CONSTANT int8 := times * increment;
  now int8 := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
  base int8; next int8; state int8;
BEGIN
    UPDATE "public"."spillway" t SET
      tat = (greatest(abs(t.tat), now) + total) * CASE WHEN greatest(abs(t.tat), now) + total - now > ceiling THEN -1 ELSE 1 END,
      counts = NULL, expires = CASE WHEN t.expires >= (greatest(abs(t.tat), now) + total) + 60000000 THEN t.expires
        ELSE (greatest(abs(t.tat), now) + total) + 60000000 + least(greatest(4 * ((greatest(abs(t.tat), now) + total) - now), 600000000), 86400000000) END
    WHERE t.name = named AND t.tat - now <= ceiling
      AND greatest(abs(t.tat), now) + total - increment + needed - (now + patience) <= tolerance
    RETURNING abs(t.tat) INTO next;
    IF FOUND THEN RETURN concat_ws(' ', now, 1, next - total); END IF;

  FOR attempt IN 1..3 LOOP
    SELECT t.tat INTO state FROM "public"."spillway" t WHERE t.name = named;
    IF FOUND THEN
      now := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
      base := greatest(abs(state), now);
      EXIT WHEN coalesce(state - now > ceiling, true);
      IF base + needed - (now + patience) > tolerance THEN RETURN concat_ws(' ', now, 0, base); END IF;
      EXIT WHEN base + total - increment + needed - (now + patience) > tolerance;
    ELSE
      EXIT WHEN total - increment + needed - patience > tolerance;
      next := now + total;
      INSERT INTO "public"."spillway" (name, tat, expires)
      VALUES (named, next * CASE WHEN total > ceiling THEN -1 ELSE 1 END, CASE WHEN NULL >= next + 60000000 THEN NULL
        ELSE next + 60000000 + least(greatest(4 * (next - now), 600000000), 86400000000) END) ON CONFLICT DO NOTHING;
      IF FOUND THEN RETURN concat_ws(' ', now, 1, now); END IF;
    END IF;
    now := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
    UPDATE "public"."spillway" t SET
      tat = (greatest(abs(t.tat), now) + total) * CASE WHEN greatest(abs(t.tat), now) + total - now > ceiling THEN -1 ELSE 1 END,
      counts = NULL, expires = CASE WHEN t.expires >= (greatest(abs(t.tat), now) + total) + 60000000 THEN t.expires
        ELSE (greatest(abs(t.tat), now) + total) + 60000000 + least(greatest(4 * ((greatest(abs(t.tat), now) + total) - now), 600000000), 86400000000) END
    WHERE t.name = named AND t.tat - now <= ceiling
      AND greatest(abs(t.tat), now) + total - increment + needed - (now + patience) <= tolerance
    RETURNING abs(t.tat) INTO next;
    IF FOUND THEN RETURN concat_ws(' ', now, 1, next - total); END IF;
  END LOOP;
  RETURN "public"."spillway_take_all"(named, concat_ws(' ', 24, 1, 0, increment, needed, tolerance, ceiling, patience,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0), rtrim(repeat('1 1 1 ', times)), at, lock_patience, lazy);
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_take_fraction"
  (named text, times int, scale int8, total int8, total_early int8, first int8, first_early int8, last int8, last_early int8,
   ceiling int8, patience int8, steps text, at int8, lock_patience text, lazy bool) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  settings CONSTANT text := concat(set_config('lock_timeout', lock_patience, true),
    CASE WHEN lazy THEN set_config('synchronous_commit', 'off', true) END);
  now int8 := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
  full_at int8; full_early int8; state int8;
BEGIN
    UPDATE "public"."spillway" t SET
      tat = (greatest(abs(t.tat), now) + total - (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + total_early) / scale) * CASE WHEN (greatest(abs(t.tat), now) + total - (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + total_early) / scale) - now > ceiling THEN -1 ELSE 1 END,
      counts = ARRAY[scale, (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + total_early) % scale],
      expires = CASE WHEN t.expires >= (greatest(abs(t.tat), now) + total) + 60000000 THEN t.expires
        ELSE (greatest(abs(t.tat), now) + total) + 60000000 + least(greatest(4 * ((greatest(abs(t.tat), now) + total) - now), 600000000), 86400000000) END
    WHERE t.name = named AND t.tat - now <= ceiling AND greatest(abs(t.tat), now) + last - (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + last_early) / scale <= now + patience
    RETURNING abs(t.tat), t.counts[2] INTO full_at, full_early;
    IF FOUND THEN RETURN concat_ws(' ', now, 1, full_at, full_early); END IF;

  FOR attempt IN 1..3 LOOP
    SELECT t.tat, CASE WHEN t.counts[1] = scale THEN t.counts[2] ELSE 0 END INTO state, full_early FROM "public"."spillway" t WHERE t.name = named;
    IF FOUND THEN
      now := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
      full_at := greatest(abs(state), now);
      IF full_at = now THEN full_early := 0; END IF;
      EXIT WHEN coalesce(state - now > ceiling, true);
      IF full_at + first - (full_early + first_early) / scale > now + patience THEN
        RETURN concat_ws(' ', now, 0, full_at, full_early);
      END IF;
      EXIT WHEN full_at + last - (full_early + last_early) / scale > now + patience;
    ELSE
      EXIT WHEN last > patience;
      INSERT INTO "public"."spillway" (name, tat, counts, expires)
      VALUES (named, (now + total) * CASE WHEN total > ceiling THEN -1 ELSE 1 END,
        CASE WHEN total_early > 0 THEN ARRAY[scale, total_early] END, CASE WHEN NULL >= (now + total) + 60000000 THEN NULL
        ELSE (now + total) + 60000000 + least(greatest(4 * ((now + total) - now), 600000000), 86400000000) END) ON CONFLICT DO NOTHING;
      IF FOUND THEN RETURN concat_ws(' ', now, 1, now + total, total_early); END IF;
    END IF;
    now := coalesce(at, (extract(epoch FROM clock_timestamp()) * 1000000)::int8);
    UPDATE "public"."spillway" t SET
      tat = (greatest(abs(t.tat), now) + total - (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + total_early) / scale) * CASE WHEN (greatest(abs(t.tat), now) + total - (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + total_early) / scale) - now > ceiling THEN -1 ELSE 1 END,
      counts = ARRAY[scale, (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + total_early) % scale],
      expires = CASE WHEN t.expires >= (greatest(abs(t.tat), now) + total) + 60000000 THEN t.expires
        ELSE (greatest(abs(t.tat), now) + total) + 60000000 + least(greatest(4 * ((greatest(abs(t.tat), now) + total) - now), 600000000), 86400000000) END
    WHERE t.name = named AND t.tat - now <= ceiling AND greatest(abs(t.tat), now) + last - (CASE WHEN t.counts[1] = scale AND abs(t.tat) > now THEN t.counts[2] ELSE 0 END + last_early) / scale <= now + patience
    RETURNING abs(t.tat), t.counts[2] INTO full_at, full_early;
    IF FOUND THEN RETURN concat_ws(' ', now, 1, full_at, full_early); END IF;
  END LOOP;
  RETURN "public"."spillway_take_all"(named, steps, rtrim(repeat('1 1 1 ', times)), at, lock_patience, lazy);
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_hash_of"(name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  units bytea := ''; code int; unit int;
BEGIN
  -- In UTF-16, least significant byte first.
  FOREACH code IN ARRAY ARRAY(SELECT ascii(c) FROM unnest(string_to_array(name, NULL)) WITH ORDINALITY AS t(c, i) ORDER BY i) LOOP
    FOREACH unit IN ARRAY CASE WHEN code < 65536 THEN ARRAY[code]
      ELSE ARRAY[55296 + ((code - 65536) >> 10), 56320 + ((code - 65536) & 1023)] END LOOP
      units := units || set_byte(set_byte('\x0000', 0, unit & 255), 1, unit >> 8);
    END LOOP;
  END LOOP;
  RETURN '#' || translate(rtrim(encode(sha256(units), 'base64'), '='), '+/', '-_');
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_state_name"(policy text, key text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name CONSTANT text := replace(replace(policy, '%', '%25'), '/', '%2F');
BEGIN
  RETURN CASE WHEN length(name) <= 400 AND name COLLATE "C" ~ '^(?!#)[ -~]*$' THEN name ELSE "public"."spillway_hash_of"(policy) END
    || '/' || CASE WHEN length(key) <= 200 AND key COLLATE "C" ~ '^(?!#)[ -~]*$' THEN key ELSE "public"."spillway_hash_of"(key) END;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_consume"
  (key text, "limit" int8, per interval, burst int8 DEFAULT NULL, cost int8 DEFAULT 1, policy text DEFAULT 'default',
   OUT allowed bool, OUT remaining int8, OUT retry_after_ms float8, OUT reset_after_ms float8)
LANGUAGE plpgsql AS $$
DECLARE
  span CONSTANT numeric := round(extract(epoch FROM per)::numeric * 1000000);
  -- Products of arguments: in parts of a microsecond they may exceed int8.
  divisor numeric; unit numeric; scale numeric; size numeric; taken numeric; ahead numeric; answer numeric[];
BEGIN
  IF coalesce(key, '') = '' THEN
    RAISE invalid_parameter_value USING MESSAGE = format('spillway_consume: key must be a non-empty text that says whom to count; got %s', coalesce(quote_literal(key), 'NULL')),
      HINT = 'Write: SELECT * FROM public.spillway_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;
  IF coalesce(policy, '') = '' THEN
    RAISE invalid_parameter_value USING MESSAGE = format('spillway_consume: policy must be the name of a limiter; got %s', coalesce(quote_literal(policy), 'NULL')),
      HINT = 'Write: SELECT * FROM public.spillway_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;
  IF "limit" IS NULL OR "limit" < 1 OR "limit" > 3000000000000000 THEN
    RAISE invalid_parameter_value USING MESSAGE = format('spillway_consume: limit must be a whole number from 1 to 3000000000000000; got %s', coalesce("limit"::text, 'NULL')),
      HINT = 'Write: SELECT * FROM public.spillway_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;
  burst := coalesce(burst, "limit");
  IF "burst" IS NULL OR "burst" < 1 OR "burst" > 3000000000000000 THEN
    RAISE invalid_parameter_value USING MESSAGE = format('spillway_consume: burst must be a whole number from 1 to 3000000000000000; got %s', coalesce("burst"::text, 'NULL')),
      HINT = 'Write: SELECT * FROM public.spillway_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;
  IF "cost" IS NULL OR "cost" < 1 OR "cost" > 3000000000000000 THEN
    RAISE invalid_parameter_value USING MESSAGE = format('spillway_consume: cost must be a whole number from 1 to 3000000000000000; got %s', coalesce("cost"::text, 'NULL')),
      HINT = 'Write: SELECT * FROM public.spillway_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;
  IF per IS NULL OR span < 1 OR span > 3000000000000000 OR extract(month FROM per) <> 0 OR extract(year FROM per) <> 0 THEN
    RAISE invalid_parameter_value USING MESSAGE = format('spillway_consume: per must be a span from 1 microsecond to 95 years, in days or less, as a month has no fixed length; got %s', coalesce(per::text, 'NULL')),
      HINT = 'Write: SELECT * FROM public.spillway_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;
  divisor := gcd(span, "limit");
  unit := div(span, divisor);
  scale := div("limit", divisor);
  IF burst * unit > 3000000000000000 * scale THEN
    RAISE invalid_parameter_value USING MESSAGE = format('spillway_consume: a bucket of burst %s would take over 95 years to fill; use a smaller one', burst),
      HINT = 'Write: SELECT * FROM public.spillway_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;
  size := burst * unit;
  -- A cost above the capacity never fits. It is capped at one unit more than the capacity.
  taken := least(cost, burst + 1) * unit;
  IF scale = 1 THEN
    answer := string_to_array("public"."spillway_take_same"("public"."spillway_state_name"(policy, key), 1, taken::int8, taken::int8, size::int8,
      size::int8, 0, NULL, current_setting('lock_timeout'), false), ' ')::numeric[];
    ahead := answer[3] - answer[1];
  ELSE
    answer := string_to_array("public"."spillway_take_all"("public"."spillway_state_name"(policy, key), concat_ws(' ', 24, 1, 0, div(taken + scale - 1, scale),
      div(taken + scale - 1, scale), div(size + scale - 1, scale), div(size + scale - 1, scale), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, scale, mod(scale - mod(taken, scale), scale),
      mod(scale - mod(taken, scale), scale), mod(scale - mod(size, scale), scale), 0, 0, 0), '1 1 1', NULL, current_setting('lock_timeout'), false), ' ')::numeric[];
    ahead := (answer[3] - answer[1]) * scale - answer[6];
  END IF;
  allowed := answer[2] = 1;
  retry_after_ms := CASE WHEN allowed THEN 0 WHEN cost > burst THEN 'Infinity' ELSE div((ahead + taken - size) + scale - 1, scale) / 1000 END;
  IF allowed THEN ahead := ahead + taken; END IF;
  remaining := greatest(div(size - ahead, unit), 0);
  reset_after_ms := div(ahead + scale - 1, scale) / 1000;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_sweep"(most int) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE swept int;
BEGIN
  DELETE FROM "public"."spillway" WHERE name = ANY (ARRAY(
    SELECT t.name FROM "public"."spillway" t WHERE t.expires < (extract(epoch FROM clock_timestamp()) * 1000000)::int8
    ORDER BY t.expires LIMIT most FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS swept = ROW_COUNT;
  RETURN swept;
END
$$;

CREATE OR REPLACE FUNCTION "public"."spillway_version"() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 9 $$;
