import { vectors } from '../../packages/conformance/src/vectors.ts'
import { bucketSql } from '../../packages/postgres/src/sql/bucket.ts'
import { namesOf } from '../../packages/postgres/src/sql/names.ts'
import { penaltySql } from '../../packages/postgres/src/sql/penalty.ts'
import { slidingWindowSql } from '../../packages/postgres/src/sql/sliding-window.ts'
import { takeSql } from '../../packages/postgres/src/sql/take.ts'
import { warmUpSql } from '../../packages/postgres/src/sql/warm-up.ts'
import { kernelEquality, slowEqualities } from './equalities.ts'
import { isOfNumbers, postgresSource } from './kernels.ts'
import { sqlLanguage, typeScript } from './languages.ts'
import { programOf } from './replay.ts'
import { sqlKernels } from './sql-kernel.ts'
import { proves } from './suite.ts'

const source = postgresSource()
const names = namesOf('public', 'limits')
const text = [bucketSql, slidingWindowSql, penaltySql, warmUpSql, takeSql].map((sql) => sql(names)).join('')
const propertiesOf = (sql: string) => kernelEquality(typeScript(source), sqlLanguage(source, sql))

const PARTS = 'a bucket of parts of a microsecond, in the state of a number'

proves(
  'every step, state and time, the SQL kernels have the same results as the TypeScript ones:',
  text,
  propertiesOf,
  slowEqualities(propertiesOf(text)),
  {
    'allows a unit too many': {
      text: '(step[5] - base[2] - step[4] + 1)',
      replacement: '(step[5] - base[2] - step[4] + 2)',
      property: 'a sliding window, in the state of a key that was used',
    },
    'forgets the window before': {
      text: '>= 2 * "window"',
      replacement: '>= "window"',
      property: 'a sliding window, in the state of a key that was used',
    },
    'keeps a window from the future': {
      text: 'state[1] > now AND base OPERATOR(pg_catalog.<>) state',
      replacement: 'state[1] < now AND base <> state',
      property: 'a sliding window, in the state of a key that was used',
    },
    'returns units twice': {
      text: 'least(give - from_current, base[3])',
      replacement: 'least(give, base[3])',
      property: 'a fixed window, in the state of a key that was used',
    },
    'denies a request that just fits': {
      text: '(fits_at <= due)',
      replacement: '(fits_at < due)',
      property: 'a bucket, in the state of a new key',
    },
    'refills a bucket when the clock steps back': {
      text: 'ELSE now_tick + ceiling END',
      replacement: 'ELSE now_tick END',
      property: 'a bucket, in the state of a number',
    },
    'takes a debt for a clock that has stepped back': {
      text: 'THEN -1 ELSE 1 END *',
      replacement: 'THEN 1 ELSE 1 END *',
      property: 'the state of a bucket that is stored',
    },
    'drops the parts of a microsecond': {
      text: 'next_early := (early + part) % scale;',
      replacement: 'next_early := early % scale;',
      property: PARTS,
    },
    'compares whole microseconds only': {
      text: '(early + step[20] - step[21], scale)',
      replacement: '(early, scale)',
      property: PARTS,
    },
    'returns units that later turns rely on': {
      text: 'greatest(now_tick, turn);',
      replacement: 'now_tick;',
      property: 'a bucket, in the state of a bucket with refunds',
    },
    'takes a key without a state for one that has been full since 1970': {
      text: '(stored IS NULL OR coalesce(abs(state), refunded[2]) + step[17] <= now)',
      replacement: 'coalesce(abs(state), refunded[2], 0) + step[17] <= now',
      property: 'a bucket with initial units, in the state of a new key',
    },
    'refills a microsecond late': {
      text: '(now + step[15]) / step[12]',
      replacement: '(now + step[15] - 1) / step[12]',
      property: 'a bucket that refills at intervals, in the state of a new key',
    },
    'stores a unit too many': {
      text: 'tick % step[13] * step[14]',
      replacement: '(tick % step[13] + 1) * step[14]',
      property: 'the state of a bucket that refills at intervals that is stored',
    },
    'allows a unit too many before a block': {
      text: 'used + step[4] <= "limit"',
      replacement: 'used + step[4] <= "limit" + 1',
      property: 'a penalty, in the state of a new key',
    },
    'blocks a unit late': {
      text: 'IF count < step[5] THEN',
      replacement: 'IF count <= step[5] THEN',
      property: 'a penalty, in the state of a new key',
    },
    'does not count blocks in a row': {
      text: 'level := level + 1;',
      replacement: 'level := level;',
      property: 'a penalty, in the state of a key that was used',
    },
    'begins with a warm key': {
      text: 'ARRAY[now, 0, 0, 2 * half, scale',
      replacement: 'ARRAY[now, 0, 0, half, scale',
      property: 'a key that warms up, in the state of a new key',
    },
    'forgets idle time': {
      text: 'least(state[4] - remaining, 2 * half)',
      replacement: 'least(state[4], 2 * half)',
      property: 'a key that warms up, in the state of a key that was used',
    },
    'rounds down': {
      text: '(a - b) * low + half - 1)',
      replacement: '(a - b) * low)',
      property: 'what units take longer while a key is cold',
    },
  },
  {
    vectors: vectors.filter(isOfNumbers),
    programOf: (sql) => ({ ...programOf(source), runKernel: sqlKernels(source, sql) }),
  },
)
