import { LONGEST } from '@spillway/core/internal'
import { LONGEST_KEY, LONGEST_POLICY } from '../key.ts'
import type { Names } from './names.ts'

/** The whole microseconds that parts of one begin, and how much earlier the parts end. */
const tick = (parts: string): string => `div(${parts} + scale - 1, scale)`
const early = (parts: string): string => `mod(scale - mod(${parts}, scale), scale)`

/**
 * The function that users call directly. It checks its arguments, builds the same step as core does for a token bucket's
 * `consume`, and computes the decision like core's `decide`. The row's name is that of `key.ts`. The session's
 * `lock_timeout` applies.
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
  -- In UTF-16, least significant byte first.
  FOREACH code IN ARRAY ARRAY(SELECT ascii(c) FROM unnest(string_to_array(name, NULL)) WITH ORDINALITY AS t(c, i) ORDER BY i) LOOP
    FOREACH unit IN ARRAY CASE WHEN code < 65536 THEN ARRAY[code]
      ELSE ARRAY[55296 + ((code - 65536) >> 10), 56320 + ((code - 65536) & 1023)] END LOOP
      units := units || set_byte(set_byte('\\x0000', 0, unit & 255), 1, unit >> 8);
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
LANGUAGE plpgsql AS $$
DECLARE
  span CONSTANT numeric := round(extract(epoch FROM per)::numeric * 1000000);
  -- Products of arguments: in parts of a microsecond they may exceed int8.
  divisor numeric; unit numeric; scale numeric; size numeric; taken numeric; ahead numeric; answer numeric[];
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
  -- A cost above the capacity never fits. It is capped at one unit more than the capacity.
  taken := least(cost, burst + 1) * unit;
  IF scale = 1 THEN
    answer := string_to_array(${fn('take_same')}(${fn('state_name')}(policy, key), 1, taken::int8, taken::int8, size::int8,
      size::int8, 0, NULL, current_setting('lock_timeout'), false), ' ')::numeric[];
    ahead := answer[3] - answer[1];
  ELSE
    answer := string_to_array(${fn('take_all')}(${fn('state_name')}(policy, key), concat_ws(' ', 24, 1, 0, ${tick('taken')},
      ${tick('taken')}, ${tick('size')}, ${tick('size')}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, scale, ${early('taken')},
      ${early('taken')}, ${early('size')}, 0, 0, 0), '1 1 1', NULL, current_setting('lock_timeout'), false), ' ')::numeric[];
    ahead := (answer[3] - answer[1]) * scale - answer[6];
  END IF;
  allowed := answer[2] = 1;
  retry_after_ms := CASE WHEN allowed THEN 0 WHEN cost > burst THEN 'Infinity' ELSE ${tick('(ahead + taken - size)')} / 1000 END;
  IF allowed THEN ahead := ahead + taken; END IF;
  remaining := greatest(div(size - ahead, unit), 0);
  reset_after_ms := ${tick('ahead')} / 1000;
END
$$;
`
}
