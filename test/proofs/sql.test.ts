import type { Vector } from '../../packages/conformance/src/vectors/vector.ts'
import { vectors } from '../../packages/conformance/src/vectors.ts'
import { namesOf } from '../../packages/postgres/src/sql/names.ts'
import { takeBucketSql } from '../../packages/postgres/src/sql/take-bucket.ts'
import { postgresSource } from './kernels.ts'
import { programOf } from './replay.ts'
import { STATES, takeBucketProperties } from './sql-bucket.ts'
import { sqlKernel } from './sql-kernel.ts'
import { proves } from './suite.ts'

const source = postgresSource()
const program = programOf(source)
const isCovered = ({ quota }: Vector): boolean =>
  quota.kernel === 'bucket' && quota.schedule === null && quota.start === null

/** The condition of the first update. */
const FIRST = 'counts = NULL\n      WHERE t.name = state_name AND t.tat > 0 AND t.tat'
const PRODUCT = 'the units of some calls are a product'
const NEW = 'calls of one step, in the state of a new key'
const USED = 'calls of one step, in the state of a number'
const PARTED = 'calls of one step, in the state of parts of a microsecond'
const PARTS = 'calls of one step of parts of a microsecond, in the state of parts of a microsecond'

proves(
  'every bucket, number of calls, state and time, the SQL function does what the kernel does:',
  takeBucketSql(namesOf('public', 'limits')),
  (sql) => takeBucketProperties(source, sql),
  [
    PRODUCT,
    USED,
    PARTED,
    ...STATES.map((state) => `calls of one step of parts of a microsecond, in the state of ${state}`),
  ],
  {
    'gives a new key more than the bucket': {
      text: 'last_ahead < 0',
      replacement: 'last_ahead < 0 - ceiling',
      property: NEW,
    },
    'allows a request a microsecond early': {
      text: `${FIRST} <= now + most_ahead`,
      replacement: `${FIRST} <= now + most_ahead + 1`,
      property: USED,
    },
    'keeps units that have refilled': {
      text: 'greatest(t.tat, now) + total, counts = NULL',
      replacement: 't.tat + total, counts = NULL',
      property: USED,
    },
    'consumes a microsecond less': {
      text: 'greatest(t.tat, now) + total, counts = NULL',
      replacement: 'greatest(t.tat, now) + total - 1, counts = NULL',
      property: USED,
    },
    'denies a request that just fits': {
      text: '> now + first_ahead',
      replacement: '>= now + first_ahead',
      property: USED,
    },
    'allows a call that does not fit after the first': {
      text: '> now + last_ahead',
      replacement: '> now + first_ahead',
      property: USED,
    },
    'takes a debt for a clock that has stepped back': {
      text: 'greatest(abs(t.tat), now)',
      replacement: 'greatest(t.tat, now)',
      property: USED,
    },
    'keeps a state from the future': {
      text: '(stored - now <= ceiling) IS NOT TRUE',
      replacement: '(stored - now <= 2 * ceiling) IS NOT TRUE',
      property: USED,
    },
    'gives a new key a unit for nothing': {
      text: 'next := now + total',
      replacement: 'next := now + total - 1',
      property: NEW,
    },
    'drops the parts of a microsecond': {
      text: '(t.counts[2] + total_early) % scale ELSE total_early',
      replacement: 't.counts[2] ELSE total_early',
      property: PARTS,
    },
    'consumes the parts of a microsecond as a whole one': {
      text: 'total - (early + total_early) / scale',
      replacement: 'total',
      property: PARTS,
    },
    'denies a request that just fits by parts of a microsecond': {
      text: 'base - (early + first_early) / scale >',
      replacement: 'base >',
      property: PARTS,
    },
    'reads the parts of a bucket that is full': {
      text: 'CASE WHEN t.tat > now THEN',
      replacement: 'CASE WHEN t.tat > 0 THEN',
      property: PARTS,
    },
  },
  {
    vectors: vectors.filter(isCovered),
    programOf: (sql) => ({ ...program, runKernel: sqlKernel(source, sql, program) }),
    arithmetic: 2,
  },
)
