import { LONGEST } from '@spillway/core/internal'
import { LONGEST_KEY, LONGEST_POLICY } from '../key.ts'
import { BUCKET_ANSWER, BUCKET_OUTCOME, fieldsOf, placeOf } from './layout.ts'
import { type Names, SAFE_PATH } from './names.ts'

const answer = fieldsOf('answer', BUCKET_ANSWER)
/** In an answer of `take_calls`, after its first number, which is now. */
const EARLY_OF_BASE = 1 + placeOf(BUCKET_OUTCOME, 'baseEarly')

/** The whole microseconds that parts of one begin, and how much earlier the parts end. */
const tick = (parts: string): string => `div(${parts} + scale - 1, scale)`
const early = (parts: string): string => `mod(scale - mod(${parts}, scale), scale)`

/**
 * The function that users call directly. It checks its arguments, builds the same step as core does for a token
 * bucket's `consume`, and computes the decision like core's `decide`. The row's name is that of `key.ts`, which hashes
 * UTF-16, least significant byte first. The session's `lock_timeout` applies. A cost above the capacity never fits: it
 * is capped at one unit more than the capacity.
 *
 * An answer of four numbers has the state after the call; one of more, from `take_calls`, the state before.
 */
export const consumeSql = ({ fn, bare }: Names): string => {
  const fail = (condition: string, message: string, ...values: string[]): string =>
    `IF ${condition} THEN
    RAISE invalid_parameter_value USING MESSAGE = format('${bare[1]}_consume: ${message}'${values.map((value) => `, ${value}`).join('')}),
      HINT = 'Write: SELECT * FROM ${bare.join('.')}_consume(key, limit, per, burst, cost), such as (''user:42'', 100, ''1 minute'').';
  END IF;`
  const positive = (name: string): string =>
    fail(
      `"${name}" IS NULL OR "${name}" < 1 OR "${name}" > ${LONGEST}`,
      `${name} must be a whole number from 1 to ${LONGEST}; got %s`,
      `coalesce("${name}"::text, 'NULL')`,
    )
  return `
CREATE OR REPLACE FUNCTION ${fn('hash_of')}(name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  units bytea := ''; code int; unit int;
BEGIN
  FOREACH code IN ARRAY ARRAY(SELECT ascii(c) FROM unnest(string_to_array(name, NULL)) WITH ORDINALITY AS t(c, i) ORDER BY i) LOOP
    IF code > 127 AND current_setting('server_encoding') <> 'UTF8' THEN
      RAISE feature_not_supported USING MESSAGE =
        format('${bare[1]}_consume: characters beyond ASCII need a database in UTF8; got %s in %s', quote_literal(name), current_setting('server_encoding'));
    END IF;
    FOREACH unit IN ARRAY CASE WHEN code < 65536 THEN ARRAY[code]
      ELSE ARRAY[55296 + ((code - 65536) >> 10), 56320 + ((code - 65536) & 1023)] END LOOP
      units := units || set_byte(set_byte(decode('0000', 'hex'), 0, unit & 255), 1, unit >> 8);
    END LOOP;
  END LOOP;
  RETURN '#' || translate(rtrim(encode(sha256(units), 'base64'), '='), '+/', '-_');
END
$$;

CREATE OR REPLACE FUNCTION ${fn('state_name')}(policy text, key text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name CONSTANT text := replace(replace(policy, '%', '%25'), '/', '%2F');
BEGIN
  RETURN CASE WHEN length(name) <= ${LONGEST_POLICY} AND name COLLATE "C" ~ '^(?!#)[ -~]*$' THEN name ELSE ${fn('hash_of')}(policy) END
    || '/' || CASE WHEN length(key) <= ${LONGEST_KEY} AND key COLLATE "C" ~ '^(?!#)[ -~]*$' THEN key ELSE ${fn('hash_of')}(key) END;
END
$$;

CREATE OR REPLACE FUNCTION ${fn('consume')}
  (key text, "limit" int8, per interval, burst int8 DEFAULT NULL, cost int8 DEFAULT 1, policy text DEFAULT 'default',
   OUT allowed bool, OUT remaining int8, OUT retry_after_ms float8, OUT reset_after_ms float8)
LANGUAGE plpgsql ${SAFE_PATH} AS $$
DECLARE
  span CONSTANT numeric := round(extract(epoch FROM per)::numeric * 1000000);
  -- Products of arguments: in parts of a microsecond they may exceed int8.
  divisor numeric; unit numeric; scale numeric; size numeric; taken numeric; parts numeric; answer numeric[];
  total int8; total_early int8; room int8; room_early int8; ahead int8; more int8;
BEGIN
  ${fail("coalesce(key, '') = ''", 'key must be a non-empty text that says whom to count; got %s', "coalesce(quote_literal(key), 'NULL')")}
  ${fail("coalesce(policy, '') = ''", 'policy must be the name of a limiter; got %s', "coalesce(quote_literal(policy), 'NULL')")}
  ${positive('limit')}
  burst := coalesce(burst, "limit");
  ${positive('burst')}
  ${positive('cost')}
  ${fail(
    `per IS NULL OR span < 1 OR span > ${LONGEST} OR extract(month FROM per) <> 0 OR extract(year FROM per) <> 0`,
    'per must be a span from 1 microsecond to 95 years, in days or less, as a month has no fixed length; got %s',
    "coalesce(per::text, 'NULL')",
  )}
  divisor := gcd(span, "limit");
  unit := div(span, divisor);
  scale := div("limit", divisor);
  ${fail(
    `burst * unit > ${LONGEST} * scale`,
    'a bucket of burst %s would take over 95 years to fill; use a smaller one',
    'burst',
  )}
  size := burst * unit;
  taken := least(cost, burst + 1) * unit;
  total := ${tick('taken')};
  total_early := ${early('taken')};
  room := ${tick('size')};
  room_early := ${early('size')};
  ahead := room - total - (total_early < room_early)::int;
  more := mod(scale + total_early - room_early, scale);
  answer := string_to_array(${fn('take_bucket')}(${fn('state_name')}(policy, key), total, total_early, scale::int8,
    CASE WHEN ahead >= 0 THEN ahead END,
    1, room, ahead, more, ahead, more,
    concat_ws(' ', 1, 0, total, total, room, room, '0 0 0 0 0 0 0 0 0 0 0', scale, total_early, total_early, room_early, '0 0 0'),
    NULL::int8, current_setting('lock_timeout'), false), ' ')::numeric[];
  allowed := ${answer.allowed} = 1;
  parts := (${answer.tick} - ${answer.now}) * scale - coalesce(answer[CASE cardinality(answer) WHEN ${BUCKET_ANSWER.length} THEN ${placeOf(BUCKET_ANSWER, 'early')} ELSE ${EARLY_OF_BASE} END], 0);
  IF allowed AND cardinality(answer) > ${BUCKET_ANSWER.length} THEN parts := parts + taken; END IF;
  retry_after_ms := CASE WHEN allowed THEN 0 WHEN cost > burst THEN 'Infinity'::float8 ELSE ${tick('(parts + taken - size)')} / 1000 END;
  remaining := greatest(div(size - parts, unit), 0);
  reset_after_ms := ${tick('parts')} / 1000;
END
$$;
`
}
