import { bucketLua } from '../../packages/redis/src/lua/bucket.ts'
import { slidingWindowLua } from '../../packages/redis/src/lua/sliding-window.ts'
import { headLua } from '../../packages/redis/src/lua/take.ts'
import { bucketEquality, windowEquality } from './equality.ts'
import { kernelSource } from './kernels.ts'
import { proves } from './suite.ts'

const source = kernelSource()

proves(
  'every bucket and window, step, state and time, the Lua kernel has the same results as the TypeScript one:',
  headLua + bucketLua + slidingWindowLua,
  (script) => ({ ...windowEquality(source, script), ...bucketEquality(source, script) }),
  ['a bucket, in the state of a number', 'a bucket, in the state of a bucket with refunds'],
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
    'keeps a window from the future': {
      text: 'state.start > now then kept = base',
      replacement: 'state.start > now then kept = state',
      property: 'a sliding window, in the state of a key that was used',
    },
  },
)
