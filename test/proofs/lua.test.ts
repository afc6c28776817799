import { vectors } from '../../packages/conformance/src/vectors.ts'
import { bucketLua } from '../../packages/redis/src/lua/bucket.ts'
import { penaltyLua } from '../../packages/redis/src/lua/penalty.ts'
import { slidingWindowLua } from '../../packages/redis/src/lua/sliding-window.ts'
import { headLua } from '../../packages/redis/src/lua/take.ts'
import { warmUpLua } from '../../packages/redis/src/lua/warm-up.ts'
import { kernelEquality, slowEqualities } from './equalities.ts'
import { isOfNumbers, kernelSource } from './kernels.ts'
import { luaLanguage, typeScript } from './languages.ts'
import { luaKernel } from './lua-kernel.ts'
import { programOf } from './replay.ts'
import { proves } from './suite.ts'

const source = kernelSource()
const script = headLua + bucketLua + slidingWindowLua + penaltyLua + warmUpLua
const propertiesOf = (lua: string) => kernelEquality(typeScript(source), luaLanguage(lua))

proves(
  'every step, state and time, the Lua kernels have the same results as the TypeScript ones:',
  script,
  propertiesOf,
  slowEqualities(propertiesOf(script)),
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
      property: 'a bucket of parts of a microsecond with initial units, in the state of a new key',
    },
    'keeps a window from the future': {
      text: 'state.start > now then kept = base',
      replacement: 'state.start > now then kept = state',
      property: 'a sliding window, in the state of a key that was used',
    },
    'refills a microsecond late': {
      text: 'floor((now + schedule.offset) / schedule.interval)',
      replacement: 'floor((now + schedule.offset - 1) / schedule.interval)',
      property: 'a bucket that refills at intervals, in the state of a new key',
    },
    'stores a unit too many': {
      text: 'fmod(tick, schedule.amount) * schedule.tick',
      replacement: '(fmod(tick, schedule.amount) + 1) * schedule.tick',
      property: 'the state of a bucket that refills at intervals that is stored',
    },
    'forgets what remains of a block when the clock steps back': {
      text: "state['until'] > 0 and state['until'] - back or 0",
      replacement: "state['until'] > 0 and state['until'] or 0",
      property: 'a penalty, in the state of a key that was used',
    },
    'blocks a unit late': {
      text: 'if count < step.limit then',
      replacement: 'if count <= step.limit then',
      property: 'a penalty, in the state of a new key',
    },
    'lifts a block for no units': {
      text: 'give > 0 and count < step.limit and 0',
      replacement: 'count < step.limit + 1 and 0',
      property: 'a penalty, in the state of a key that was used',
    },
    'begins with a warm key': {
      text: 'early = 0, cold = 2 * half, scale',
      replacement: 'early = 0, cold = half, scale',
      property: 'a key that warms up, in the state of a new key',
    },
    'forgets idle time': {
      text: 'min(state.cold - left, 2 * half)',
      replacement: 'min(state.cold, 2 * half)',
      property: 'a key that warms up, in the state of a key that was used',
    },
    'returns units of an earlier take': {
      text: 'ahead == 0 or known and not last',
      replacement: 'ahead == 0',
      property: 'a key that warms up, in the state of a key that was used',
    },
    'rounds down': {
      text: 'ceil((rest * ',
      replacement: 'floor((rest * ',
      property: 'what units take longer while a key is cold',
    },
  },
  {
    vectors: vectors.filter(isOfNumbers),
    programOf: (lua) => ({ ...programOf(source), runKernel: luaKernel(lua) }),
    arithmetic: 2,
  },
)
