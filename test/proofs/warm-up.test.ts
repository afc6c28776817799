import { warmUpVectors } from '../../packages/conformance/src/vectors/warm-up.ts'
import { kernelSource } from './kernels.ts'
import { programOf } from './replay.ts'
import { slowdownProperties } from './slowdown.ts'
import { type Properties, proves } from './suite.ts'
import { warmUpProperties } from './warm-up.ts'

const propertiesOf = (source: string): Properties => ({ ...slowdownProperties(source), ...warmUpProperties(source) })

const FITS =
  'a request is allowed if and only if its turn comes within its wait, and it has no more units than the burst'
const TAKE = 'a take moves the next turn by the time of its units, and by three times that at most'
const WAIT = 'a denied request is allowed at the time that it is given, and not a microsecond before'
const IDLE = 'a key gets colder by a microsecond in each idle one, until it is as cold as a new key'
const STEP_BACK = 'a clock that steps back changes nothing'
const PART = 'a refund of the last take leaves what a take of the rest would have left, until the turn after it'
const WHOLE = 'a refund of all units of the last take restores the state, until the turn after it'
const EARLIER = 'a refund of an earlier take returns nothing'
const UNKNOWN = 'a refund of an unknown take returns at most its units, and nothing before now'

proves(
  'every key that warms up, state, cost and time',
  kernelSource(),
  propertiesOf,
  [PART, WHOLE, EARLIER, 'a product is divided and rounded up exactly'],
  {
    'denies a request whose turn has come': {
      text: 'base.ahead + step.check <= step.tolerance',
      replacement: 'base.ahead + step.check < step.tolerance',
      property: FITS,
    },
    'allows a request a microsecond before its turn': {
      text: 'base.ahead + step.check <= step.tolerance',
      replacement: 'base.ahead + step.check <= step.tolerance + 1',
      property: WAIT,
    },
    'allows more units than the burst': {
      text: 'needs && cost > paid ? spanOf(cost - paid, ticksPerUnit, scale).tick : 0',
      replacement: '0',
      property: FITS,
    },
    'has a caller wait a microsecond too long': {
      text: 'cost > burst ? Infinity : aheadBefore)',
      replacement: 'cost > burst ? Infinity : aheadBefore + 1)',
      property: WAIT,
    },
    'begins with a warm key': {
      text: '{ writtenAt: now, ahead: 0, early: 0, cold: 2 * half, scale }',
      replacement: '{ writtenAt: now, ahead: 0, early: 0, cold: half, scale }',
      property: 'a new key is cold, and allows any burst',
    },
    'consumes a microsecond less': {
      text: 'exactly(base.ahead + increment, base',
      replacement: 'exactly(base.ahead + increment - 1, base',
      property: 'turns are at least the time of the units before them apart',
    },
    'drops the parts of a microsecond': {
      text: 'base.early + early, scale)',
      replacement: 'base.early, scale)',
      property: TAKE,
    },
    'does not warm up': {
      text: 'Math.max(base.cold - (turn.tick - base.ahead), 0)',
      replacement: 'base.cold',
      property: TAKE,
    },
    'slows down too little': {
      text: 'dividedUp(a - b, a + b, half)',
      replacement: 'dividedUp(a - b, a, half)',
      property: 'units take longer by the area below the interval while a key gets warmer, rounded up',
    },
    'rounds down': {
      text: 'Math.ceil((rest * SPLIT + x * low) / divisor)',
      replacement: 'Math.floor((rest * SPLIT + x * low) / divisor)',
      property: 'a product is divided and rounded up exactly',
    },
    'drops the rest of a quotient': {
      text: 'const rest = x * high - whole * divisor;',
      replacement: 'const rest = 0;',
      property: 'a product is divided and rounded up exactly',
    },
    'multiplies beyond what is exact': {
      text: 'SPLIT = 131072',
      replacement: 'SPLIT = 2 ** 33',
      property: 'a product is divided and rounded up exactly',
    },
    'forgets idle time': {
      text: 'Math.min(state.cold - left, 2 * half)',
      replacement: 'Math.min(state.cold, 2 * half)',
      property: IDLE,
    },
    'gets colder than a new key': {
      text: 'Math.min(state.cold - left, 2 * half)',
      replacement: 'state.cold - left',
      property: IDLE,
    },
    'shortens a wait when the clock steps back': {
      text: 'const left = state.ahead - Math.max(now - state.writtenAt, 0)',
      replacement: 'const left = state.ahead - Math.abs(now - state.writtenAt)',
      property: STEP_BACK,
    },
    'prolongs a wait when the clock steps back': {
      text: 'const left = state.ahead - Math.max(now - state.writtenAt, 0)',
      replacement: 'const left = state.ahead - (now - state.writtenAt)',
      property: STEP_BACK,
    },
    'keeps a state from the future': {
      text: 'state.writtenAt <= now ? state : base',
      replacement: 'state.writtenAt <= now ? state : state',
      property: STEP_BACK,
    },
    'denies a charge before its turn': {
      text: '!needs ? LONGEST : cost > burst',
      replacement: 'cost > burst',
      property: 'a charge is counted as a take is, before its turn too',
    },
    'returns units of an earlier take': {
      text: 'ahead === 0 || known && !last',
      replacement: 'ahead === 0',
      property: 'a refund of an earlier take returns nothing',
    },
    'returns units whose turn has come': {
      text: 'ahead === 0 || known && !last',
      replacement: 'known && !last',
      property: UNKNOWN,
    },
    'returns more than the units took': {
      text: 'const slower = known ? 0 : slowdown(cold, base.cold, step.half)',
      replacement: 'const slower = known ? 0 : 2 * slowdown(cold, base.cold, step.half)',
      property: UNKNOWN,
    },
    'restores all of the cold for a part of the units': {
      text: 'Math.max(coldBefore - (turn.tick - aheadBefore), 0)',
      replacement: 'coldBefore',
      property: PART,
    },
    'counts no idle time when it refunds': {
      text: 'cold: Math.min(cold - turn.tick, 2 * step.half)',
      replacement: 'cold: Math.min(cold, 2 * step.half)',
      property: WHOLE,
    },
  },
  { vectors: warmUpVectors, programOf },
)
