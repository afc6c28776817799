import type { Vector } from '../../packages/conformance/src/vectors/vector.ts'
import { vectors } from '../../packages/conformance/src/vectors.ts'
import { bucketLua } from '../../packages/redis/src/lua/bucket.ts'
import { slidingWindowLua } from '../../packages/redis/src/lua/sliding-window.ts'
import { headLua } from '../../packages/redis/src/lua/take.ts'
import { bucketEquality, windowEquality } from './equality.ts'
import { kernelSource } from './kernels.ts'
import { luaKernel } from './lua-kernel.ts'
import { programOf } from './replay.ts'
import { proves } from './suite.ts'

const source = kernelSource()
const script = headLua + bucketLua + slidingWindowLua
const kernels = ['bucket', 'sliding-window']
const isCovered = ({ quota }: Vector): boolean =>
  kernels.includes(quota.kernel) && (quota.kernel !== 'sliding-window' || quota.calendar === null)

proves(
  'every bucket and window, step, state and time, the Lua kernel has the same results as the TypeScript one:',
  script,
  (lua) => ({ ...windowEquality(source, lua), ...bucketEquality(source, lua) }),
  Object.keys(bucketEquality(source, script)).filter((name) => !name.endsWith('a new key')),
  {
    'allows a unit too many': {
      text: 'step.limit - base.current - step.check + 1',
      replacement: 'step.limit - base.current - step.check + 2',
      property: 'a sliding window, in the state of a key that was used',
    },
    'denies a request that just fits': {
      text: 'fitsAt <= due',
      replacement: 'fitsAt < due',
      property: 'a bucket, in the state of a new key',
    },
    'refills a bucket when the clock steps back': {
      text: 'base, early = nowTick + ceiling, 0',
      replacement: 'base, early = nowTick, 0',
      property: 'a bucket, in the state of a number',
    },
    'returns units twice': {
      text: 'min(give - fromCurrent, previous)',
      replacement: 'min(give, previous)',
      property: 'a fixed window, in the state of a key that was used',
    },
    'drops the parts of a microsecond': {
      text: 'exactly(next, early + fraction.increment, scale)',
      replacement: 'exactly(next, early, scale)',
      property: 'a bucket of parts of a microsecond, in the state of a new key',
    },
    'compares whole microseconds only': {
      text: 'exactly(fitsAt, early + fraction.check - fraction.tolerance, scale)',
      replacement: 'exactly(fitsAt, early, scale)',
      property: 'a bucket of parts of a microsecond, in the state of a new key',
    },
    'starts with a full bucket': {
      text: 'if step.start then state',
      replacement: 'if step.start and state ~= nil then state',
      property: 'a bucket with initial units, in the state of a new key',
    },
    'keeps a full bucket a microsecond too long': {
      text: 'fullBy(state) + start.keep > now',
      replacement: 'fullBy(state) + start.keep >= now',
      property: 'a bucket with initial units, in the state of a number',
    },
    'drops the parts of a microsecond of initial units': {
      text: 'if early == 0 then return tat end',
      replacement: 'if early >= 0 then return tat end',
      property: 'the start of a bucket of parts of a microsecond, in the state of a new key',
    },
    'keeps a window from the future': {
      text: 'state.start > now then kept = base',
      replacement: 'state.start > now then kept = state',
      property: 'a sliding window, in the state of a key that was used',
    },
  },
  {
    vectors: vectors.filter(isCovered),
    programOf: (lua) => ({ ...programOf(source), runKernel: luaKernel(lua) }),
  },
)
