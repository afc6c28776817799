import { provedWindowVectors } from '../../packages/conformance/src/vectors/proofs-window.ts'
import { kernelSource } from './kernels.ts'
import { programOf } from './replay.ts'
import { type Properties, proves } from './suite.ts'
import { fixedWaitProperties, slidingWaitProperties, windowProperties } from './window.ts'

const named = (what: string, properties: Properties): Properties =>
  Object.fromEntries(Object.entries(properties).map(([name, property]) => [`${what}: ${name}`, property]))

const propertiesOf = (source: string): Properties => ({
  ...named('fixed', { ...windowProperties(source), ...fixedWaitProperties(source) }),
  ...named('sliding', { ...windowProperties(source, 1e6), ...slidingWaitProperties(source, 1e6) }),
})

const SLOW = [
  'fixed: a take is allowed if and only if its units fit beside those in use',
  'fixed: a denied request is allowed at the time that it is given, and not a microsecond before',
  'sliding: a denied request is allowed at the time that it is given, and not a microsecond before',
]

proves(
  'every window, state, cost and time',
  kernelSource(),
  propertiesOf,
  SLOW,
  {
    'allows a unit too many': {
      text: 'step.limit - base.current - step.check + 1',
      replacement: 'step.limit - base.current - step.check + 2',
      property: 'sliding: a take is allowed if and only if its units fit beside those in use',
    },
    'counts more of the window before': {
      text: 'step.ticks - Math.floor((now - base.start) / step.tick)',
      replacement: 'step.ticks + 1 - Math.floor((now - base.start) / step.tick)',
      property: 'sliding: a take is allowed if and only if its units fit beside those in use',
    },
    'consumes a unit less': {
      text: 'Math.min(base.current + step.increment, step.most)',
      replacement: 'Math.min(base.current + step.increment - 1, step.most)',
      property: 'fixed: takes of one window are within the limit',
    },
    'forgets the window before': {
      text: 'now - state.start >= 2 * window',
      replacement: 'now - state.start >= window',
      property: 'sliding: counts move on with the windows',
    },
    'begins a fixed window a microsecond late': {
      text: 'now - state.start >= window;',
      replacement: 'now - state.start > window;',
      property: 'fixed: counts move on with the windows',
    },
    'forgets the counts when the clock steps back': {
      text: '{ ...state, start }',
      replacement: '{ start, current: 0, previous: 0 }',
      property: 'fixed: a clock that steps back adds no units',
    },
    'keeps a window from the future': {
      text: 'state.start <= now ? state : base',
      replacement: 'state.start <= now ? state : state',
      property: 'sliding: a denial and a peek leave the state, unless the clock has stepped back',
    },
    'returns units to any window': {
      text: 'unknown || step.since === start ?',
      replacement: 'unknown || step.since <= start ?',
      property: 'sliding: a refund returns its units to the window that counts them, and to no other',
    },
    'returns units twice': {
      text: 'Math.min(give - fromCurrent, previous)',
      replacement: 'Math.min(give, previous)',
      property: 'sliding: a refund of an unknown take returns at most its units',
    },
    'counts without a bound': {
      text: 'Math.min(base.current + step.increment, step.most)',
      replacement: '(base.current + step.increment)',
      property: 'fixed: a charge is counted beyond the limit, up to the most that is exact',
    },
    'counts beyond what is exact': {
      text: 'MOST_COUNTED / ticks',
      replacement: '9007199254740991 / ticks',
      property: 'sliding: a charge is counted beyond the limit, up to the most that is exact',
    },
    'has a caller wait a microsecond too long': {
      text: 'left + window + (fixed',
      replacement: 'left + window + 1 + (fixed',
      property: 'fixed: a denied request is allowed at the time that it is given, and not a microsecond before',
    },
    'has a caller come a tick too early': {
      text: '(room + 1) * ticks - 1) / count',
      replacement: '(room + 1) * ticks) / count',
      property: 'sliding: units of the window before fade at the first tick at which they may',
    },
    'has a caller come a microsecond too early': {
      text: 'left + fadedAfter(ticks, previous, room) * tick',
      replacement: 'left + fadedAfter(ticks, previous, room) * tick - 1',
      property: 'sliding: a denied request is allowed at the time that it is given, and not a microsecond before',
    },
    'has a caller wait for units of the window of now to fade too far': {
      text: 'fadedAfter(ticks, current, limit - units)',
      replacement: 'fadedAfter(ticks, current, limit - units - 1)',
      property: 'sliding: a denied request is allowed at the time that it is given, and not a microsecond before',
    },
  },
  { vectors: provedWindowVectors, programOf, printed: true },
)
