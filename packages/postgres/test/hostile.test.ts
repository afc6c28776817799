import { START } from '@spillway/conformance'
import {
  penalty,
  perDay,
  perMonth,
  perSecond,
  type Quota,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { stepFor, type Verb } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate, migrationSql, sweep } from '../src/index.ts'
import { pool as owner, server } from './database.ts'
import { unhurried } from './unhurried.ts'

// cspell:ignore anycompatible anycompatiblearray Ärmel leftarg proargtypes proname proretset prorettype regclass regtype rightarg

// A role that may create in `public`, as every role may by default up to PostgreSQL 14, overloads what the functions call.

const CALENDAR = perMonth(9, { timeZone: 'UTC' })

/** Its body of each overload. */
const BODY = `LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'hostile code runs as %', current_user; END $$`

/** Functions that are polymorphic, variadic, or need a cast of these arguments. */
const FUNCTIONS = [
  ...[
    'text, int8, int4, int8, int8',
    'text, int8, int4, int8',
    'text, text, text',
    'text, text, int8, int8, int8, int8',
  ],
  ...[
    'text, int4, int4, int8, int8, int8, int8, text, int8, int8, int8, int8, text',
    'text, int4, int4, int8, int8, int8, int8, int8, text',
  ],
]
  .map((types) => `concat_ws(${types}) RETURNS text`)
  .concat(
    ['text, text', 'text'].map((types) => `concat(${types}) RETURNS text`),
    ['int8[]', 'int4[]', 'bool[]', 'text[]', 'numeric[]'].flatMap((type) => [
      `cardinality(${type}) RETURNS int4`,
      `array_to_string(${type}, text) RETURNS text`,
      `array_lower(${type}, int4) RETURNS int4`,
      `array_upper(${type}, int4) RETURNS int4`,
      `unnest(${type}) RETURNS SETOF text`,
      `array_fill(${type.slice(0, -2)}, int4[]) RETURNS ${type}`,
    ]),
    ['div', 'mod', 'gcd'].flatMap((name) => [
      `${name}(numeric, int8) RETURNS numeric`,
      `${name}(numeric, int4) RETURNS numeric`,
      `${name}(int8, numeric) RETURNS numeric`,
    ]),
    ['text', 'int8', 'text, text', 'text, int8'].map((types) => `format(text, ${types}) RETURNS text`),
    ['hashtextextended(text, int4) RETURNS int8', 'to_regclass(varchar) RETURNS regclass'],
  )

const OPERATORS = [
  ...['*', '+', '-', '/', '<', '<=', '>', '>=', '='].flatMap((name) =>
    [
      ['numeric', 'int4'],
      ['numeric', 'int8'],
      ['int8', 'numeric'],
      ['int4', 'numeric'],
      ['float8', 'int4'],
      ['numeric', 'float8'],
    ].map((types) => [name, ...types]),
  ),
  ...['||', '=', '<>'].flatMap((name) =>
    [
      ['int8[]', 'int8[]'],
      ['int8[]', 'int8'],
      ['int8', 'int8[]'],
      ['int8[]', 'int4'],
      ['text[]', 'text'],
    ].map((types) => [name, ...types]),
  ),
]

/** Those of the server itself, which another role's hide if `search_path` has the schema before `pg_catalog`. */
const EXACT_FUNCTIONS = [
  'set_config(text, text, bool) RETURNS text',
  'to_regclass(text) RETURNS regclass',
  'hashtextextended(text, int8) RETURNS int8',
  'pg_advisory_xact_lock(int8) RETURNS void',
  'clock_timestamp() RETURNS timestamptz',
  'extract(text, timestamptz) RETURNS numeric',
  'abs(int8) RETURNS int8',
  'length(text) RETURNS int4',
  'array_append(anycompatiblearray, anycompatible) RETURNS anycompatiblearray',
  'string_to_array(text, text) RETURNS text[]',
]
const EXACT_OPERATORS = ['int4', 'int8', 'text', 'numeric'].flatMap((type) =>
  (type === 'text' ? ['||', '=', '<', '>=', '~~'] : ['*', '+', '-', '/', '%', '=', '<>', '<', '<=', '>', '>=']).map(
    (name) => [name, type, type],
  ),
)

/** The usual `search_path`, and one in which the server's own functions and operators come last. */
const PATHS = ['"$user", public', 'public, pg_catalog']

const pools = new Map<string, pg.Pool>()
const as = (user: string | undefined, path: string): pg.Pool => {
  const key = `${user} ${path}`
  const options = `-c search_path=${path.replaceAll(' ', '')}`
  const known = pools.get(key) ?? new pg.Pool({ ...server.config, ...(user && { user }), options, max: 2 })
  pools.set(key, known)
  return known
}

beforeAll(async () => {
  await owner.query(`
    CREATE ROLE app LOGIN; CREATE ROLE mallory LOGIN;
    GRANT CREATE, USAGE ON SCHEMA public TO mallory`)
  await migrate(owner)
  await owner.query('GRANT SELECT, INSERT, UPDATE, DELETE ON spillway TO app')
  const mallory = new pg.Pool({ ...server.config, user: 'mallory', max: 1 })
  for (const signature of [...FUNCTIONS, ...EXACT_FUNCTIONS])
    await mallory.query(`CREATE FUNCTION public.${signature} ${BODY}`)
  for (const [i, [name, left, right]] of [...OPERATORS, ...EXACT_OPERATORS].entries()) {
    const returns = /[<>=~]/.test(name as string) ? 'bool' : left
    await mallory.query(`CREATE FUNCTION public.op_${i}(${left}, ${right}) RETURNS ${returns} ${BODY}`)
    await mallory.query(
      `CREATE OPERATOR public.${name} (FUNCTION = public.op_${i}, LEFTARG = ${left}, RIGHTARG = ${right})`,
    )
  }
  // The store's own functions: a parameter whose type is unknown fits text best.
  const { rows } = await owner.query<{ name: string; types: string[]; returns: string }>(`
    SELECT proname AS name, prorettype::regtype AS returns,
      ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) WITH ORDINALITY AS a(t, i) ORDER BY i) AS types
    FROM pg_proc WHERE proname LIKE 'spillway\\_%' AND proname <> 'spillway_consume' AND NOT proretset`)
  for (const { name, types, returns } of rows) {
    const all = ['text', 'int4', 'numeric'].map((type) => types.map((own) => (own.endsWith('[]') ? own : type)))
    const one = types.map((_, i) => types.map((own, k) => (i === k ? 'text' : own)))
    for (const others of [...all, ...one]) {
      // Not if it is the function itself.
      await mallory.query(`CREATE FUNCTION public.${name}(${others}) RETURNS ${returns} ${BODY}`).catch(() => {})
    }
  }
  await mallory.end()
})
afterAll(() => Promise.all([...pools.values()].map((each) => each.end())))

const op = (key: string, quota: Quota, verb: Verb = 'consume', cost = 1) => ({
  policy: 'p',
  key,
  step: stepFor(quota, verb, cost),
})

describe.each(PATHS)('with search_path = %s, the code of a role that may create in the schema is not run', (path) => {
  const app = () => as('app', path)

  test.each<[string, Quota]>([
    ['bucket', perDay(10)],
    ['bucket with a remainder', perDay(7)],
    ['bucket with initial units', tokenBucket({ limit: 10, per: '1d', initial: 3 })],
    ['window', slidingWindow({ limit: 10, window: '1m' })],
    ['log', slidingLog({ limit: 10, window: '1m' })],
    ['warm-up', warmingUp({ limit: 10, per: '1s', warmUpPeriod: '1m' })],
    ['penalty', penalty({ after: 2, within: '1m', block: '1h' })],
  ])('by a %s', async (kind, quota) => {
    const store = unhurried(app())
    for (let i = 0; i < 12; i++) await store.take([op(kind, quota)])
    await store.take([op(kind, quota, 'peek'), op(`${kind} 2`, quota)])
    await store.take([op(kind, quota, 'refund')])
    await Promise.all([1, 2, 3].map(() => store.take([op(kind, quota)])))
    expect(await store.take([op(kind, quota, 'consume', 1e6)])).toMatchObject([{ allowed: false }])
  })

  test('by a quota of another algorithm', async () => {
    const store = unhurried(app())
    const quotas = [
      perDay(9),
      slidingWindow({ limit: 9, window: '1m' }),
      slidingLog({ limit: 9, window: '1m' }),
      CALENDAR,
    ]
    for (const quota of [...quotas, ...quotas.toReversed()]) await store.take([op('changes', quota)])
  })

  test('by what deletes and lists', async () => {
    const store = unhurried(app()) as Required<Store>
    await store.take([op('a', perDay(10))])
    for await (const chunk of store.list('p', op('a', perDay(10), 'peek').step)) expect(chunk.length).toBeGreaterThan(0)
    await store.delete([{ policy: 'p', key: 'a' }])
    await store.deleteAll(['p'])
  })

  test('by SQL, also of earlier versions', async () => {
    const { rows } = await app().query(
      `SELECT allowed, remaining FROM spillway_consume($1, 7, '1 minute', cost => 5)`,
      [path],
    )
    expect(rows).toEqual([{ allowed: true, remaining: '2' }])
    const hashed = await app().query(
      `SELECT allowed FROM spillway_consume('Ärmel/100%', 100, '1 minute', policy => 'ä')`,
    )
    expect(hashed.rows).toEqual([{ allowed: true }])
    const unit = 1_000_000
    const step = `1 0 ${unit} ${unit} ${unit} ${unit} 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0`
    const calls = [
      `take_all('p/x'::text, '24 ${step}'::text, '1 1 1'::text, ${START}::int8, '20000'::text, false)`,
      `take_all('p/x'::text, '${step.split(' ').slice(0, 15).join(' ')}'::text, '1 1 1'::text, ${START}::int8, '20000'::text, false)`,
      `take_same('p/y'::text, 1, ${[unit, unit, unit, unit, 0, START].map((n) => `${n}::int8`)}, '20000'::text, false)`,
    ]
    for (const call of calls)
      expect((await app().query(`SELECT public.spillway_${call} AS taken`)).rows[0].taken).toContain(' ')
  })

  test('by a superuser who sweeps, migrates, or prints the migration', async () => {
    const superuser = as(undefined, path)
    await unhurried(app()).take([op('old', perSecond(1))], START)
    expect(await sweep(superuser)).toBeGreaterThanOrEqual(1)
    await superuser.query('SELECT public.spillway_sweep(10000)')
    await superuser.query(
      'CREATE OR REPLACE FUNCTION spillway_version() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT 1 $$',
    )
    await migrate(superuser)
    await superuser.query(migrationSql())
  })
})
